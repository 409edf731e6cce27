/** The build a server tells of itself. */
export interface Info {
  major: string
  minor: string
  emulationMajor?: string
  emulationMinor?: string
  minCompatibilityMajor?: string
  minCompatibilityMinor?: string
  gitVersion: string
  gitCommit: string
  gitTreeState: string
  buildDate: string
  goVersion: string
  compiler: string
  platform: string
}
