import { type ErrorList, type FieldPath, invalid, required } from '../apimachinery/field.ts'
import { regexMessage } from '../apimachinery/validation/messages.ts'
import { isDNS1123Subdomain } from '../apimachinery/validation/names.ts'

const PATH = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"
const pathRe = new RegExp(`^${PATH}$`)

/** Names such as `acme.io/foo`: a domain, and a path below it. */
export function domainPrefixedPathErrors(value: string, path: FieldPath): ErrorList {
  if (value === '') return [required(path)]
  const slash = value.indexOf('/')
  const [domain, rest] = slash < 0 ? [value, ''] : [value.slice(0, slash), value.slice(slash + 1)]
  if (slash < 0 || domain === '' || rest === '') return [invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
  const errors = isDNS1123Subdomain(domain).map((text) => invalid(path, domain, text))
  if (!pathRe.test(rest)) errors.push(invalid(path, rest, regexMessage('Invalid path', PATH)))
  return errors
}
