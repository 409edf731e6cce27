import type { resourcev1 } from '../../api/index.ts'

type Request = { allocationMode?: string; count?: number; tolerations?: resourcev1.DeviceToleration[] }

function fill(request: Request): void {
  request.allocationMode ||= 'ExactCount'
  if (request.allocationMode === 'ExactCount') request.count ||= 1
  for (const toleration of request.tolerations ?? []) toleration.operator ||= 'Equal'
}

/** One device of the class, unless the request says otherwise. */
export function defaultClaimSpec(spec: resourcev1.ResourceClaimSpec | undefined): void {
  for (const request of spec?.devices?.requests ?? []) {
    if (request.exactly) fill(request.exactly as Request)
    for (const alternative of request.firstAvailable ?? []) fill(alternative as Request)
  }
}
