import type { nodev1 } from '../../api/index.ts'
import { namedColumns } from '../named-age.ts'

export const runtimeClassColumns = namedColumns<nodev1.RuntimeClass>('Handler|Age', (c) => [c.handler])
