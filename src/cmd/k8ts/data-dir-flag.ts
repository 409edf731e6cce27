import { homedir } from 'node:os'
import { join } from 'node:path'
import { type DataDir, dataDir } from '../../cluster/local/data-dir.ts'
import type { FlagSpecs, ParsedFlags } from '../../component-base/flags/index.ts'
import type { CommandIO } from './command.ts'

/** Which cluster a command means. */
export const dataDirFlag: FlagSpecs = {
  'data-dir': { kind: 'string', usage: 'folder of the cluster; K8TS_DATA_DIR sets another default (default ~/.k8ts)', value: 'DIR' },
}

export function dataDirOf(flags: ParsedFlags, io: CommandIO): DataDir {
  return dataDir(flags.string('data-dir') || io.env.K8TS_DATA_DIR || join(homedir(), '.k8ts'))
}
