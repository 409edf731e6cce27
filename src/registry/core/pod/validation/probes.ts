import type { ExecAction, HTTPGetAction, Lifecycle, LifecycleHandler, Probe, ProbeHandler } from '../../../../api/core/v1/types.generated.ts'
import { type ErrorList, type FieldPath, forbidden, invalid, notSupported, required } from '../../../../apimachinery/field.ts'
import { isHTTPHeaderName, isPortName, isPortNumber, NON_NEGATIVE } from '../../../../apimachinery/validation/index.ts'

type Handler = ProbeHandler & Pick<LifecycleHandler, 'sleep'>

/** A port by number or by the name of a container port. */
export function validatePortOrName(port: number | string | undefined, path: FieldPath): ErrorList {
  if (typeof port === 'string') return isPortName(port).map((m) => invalid(path, port, m))
  return isPortNumber(port ?? 0).map((m) => invalid(path, port ?? 0, m))
}

function validateExec(action: ExecAction, path: FieldPath): ErrorList {
  return action.command?.length ? [] : [required(path.child('command'))]
}

function validateHTTPGet(action: HTTPGetAction, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  if (!action.path) errs.push(required(path.child('path')))
  errs.push(...validatePortOrName(action.port, path.child('port')))
  if (action.scheme !== 'HTTP' && action.scheme !== 'HTTPS') errs.push(notSupported(path.child('scheme'), action.scheme ?? '', ['HTTP', 'HTTPS']))
  for (const header of action.httpHeaders ?? []) {
    for (const m of isHTTPHeaderName(header.name)) errs.push(invalid(path.child('httpHeaders'), header.name, m))
  }
  return errs
}

/** @param gracePeriod seconds the Pod may take to end; sleeping must fit in it */
function validateHandler(handler: Handler, gracePeriod: number | undefined, path: FieldPath): ErrorList {
  const errs: ErrorList = []
  let handlers = 0
  const take = (name: 'exec' | 'httpGet' | 'tcpSocket' | 'grpc' | 'sleep', check: (at: FieldPath) => ErrorList) => {
    if (!handler[name]) return
    if (handlers > 0) errs.push(forbidden(path.child(name), 'may not specify more than 1 handler type'))
    else {
      handlers++
      errs.push(...check(path.child(name)))
    }
  }
  take('exec', (at) => validateExec(handler.exec as ExecAction, at))
  take('httpGet', (at) => validateHTTPGet(handler.httpGet as HTTPGetAction, at))
  take('tcpSocket', (at) => validatePortOrName(handler.tcpSocket?.port, at.child('port')))
  take('grpc', (at) => validatePortOrName(handler.grpc?.port, at.child('port')))
  take('sleep', (at) => {
    const seconds = handler.sleep?.seconds ?? 0
    const limit = gracePeriod ?? 0
    const text = `must be non-negative and less than terminationGracePeriodSeconds (${limit})`
    return seconds < 0 || seconds > limit ? [invalid(at, seconds, text)] : []
  })
  if (handlers === 0) errs.push(required(path, 'must specify a handler type'))
  return errs
}

function validateProbe(probe: Probe, path: FieldPath): ErrorList {
  const errs = validateHandler(probe, undefined, path)
  for (const name of ['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold'] as const) {
    const value = probe[name] ?? 0
    if (value < 0) errs.push(invalid(path.child(name), value, NON_NEGATIVE))
  }
  if (probe.terminationGracePeriodSeconds !== undefined && probe.terminationGracePeriodSeconds <= 0) {
    errs.push(invalid(path.child('terminationGracePeriodSeconds'), probe.terminationGracePeriodSeconds, 'must be greater than 0'))
  }
  return errs
}

/** Liveness and startup probes succeed at once. */
export function validateOnceProbe(probe: Probe | undefined, path: FieldPath): ErrorList {
  if (!probe) return []
  const errs = validateProbe(probe, path)
  if (probe.successThreshold !== 1) errs.push(invalid(path.child('successThreshold'), probe.successThreshold ?? 0, 'must be 1'))
  return errs
}

export function validateReadinessProbe(probe: Probe | undefined, path: FieldPath): ErrorList {
  if (!probe) return []
  const errs = validateProbe(probe, path)
  if (probe.terminationGracePeriodSeconds !== undefined) {
    errs.push(invalid(path.child('terminationGracePeriodSeconds'), probe.terminationGracePeriodSeconds, 'must not be set for readinessProbes'))
  }
  return errs
}

export function validateLifecycle(lifecycle: Lifecycle | undefined, gracePeriod: number | undefined, os: string | undefined, path: FieldPath): ErrorList {
  if (!lifecycle) return []
  const errs: ErrorList = []
  if (lifecycle.postStart) errs.push(...validateHandler(lifecycle.postStart, gracePeriod, path.child('postStart')))
  if (lifecycle.preStop) errs.push(...validateHandler(lifecycle.preStop, gracePeriod, path.child('preStop')))
  if (lifecycle.stopSignal && !os) errs.push(forbidden(path.child('stopSignal'), 'may not be set for containers with empty `spec.os.name`'))
  return errs
}
