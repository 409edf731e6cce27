import type { Info } from './version-info.ts'

/** What `/version` and `kubectl version` show. */
export const version: Info = {
  major: '1',
  minor: '36',
  emulationMajor: '1',
  emulationMinor: '36',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '35',
  gitVersion: 'v1.36.3+k8ts',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: 'node',
  platform: '',
}

/** The answer of `/version` on this machine. */
export function versionInfo(): Info {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  return { ...version, goVersion: `node${process.versions.node}`, platform: `${process.platform === 'win32' ? 'windows' : process.platform}/${arch}` }
}

/** `kube-scheduler/v1.36.3+k8ts (linux/amd64) kubernetes`: how a component names itself in requests. */
export function userAgent(component: string, account?: string): string {
  return `${component}/${version.gitVersion} (${versionInfo().platform}) kubernetes${account ? `/${account}` : ''}`
}
