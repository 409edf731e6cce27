import { StatusError } from '../../apimachinery/errors.ts'

/** The router's own refusals: no such path below a known group. */
export function routerNotFound(): StatusError {
  return new StatusError({ code: 404, reason: 'NotFound', message: 'the server could not find the requested resource', details: {} })
}

/** The path is known, the method is not. */
export function routerMethodNotAllowed(): StatusError {
  return new StatusError({ code: 405, reason: 'MethodNotAllowed', message: 'the server does not allow this method on the requested resource', details: {} })
}
