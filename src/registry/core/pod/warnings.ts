import type { Pod } from '../../../api/core/v1/types.generated.ts'

export function podWarnings(_pod: Pod, _old: Pod | undefined): string[] {
  return []
}
