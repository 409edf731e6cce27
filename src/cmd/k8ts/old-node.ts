const OLDEST = 20

/** Undefined when this Node will do; else one line that says what to do. */
export function oldNode(version: string): string | undefined {
  const major = Number(version.split('.')[0])
  return major >= OLDEST ? undefined : `k8ts needs Node.js ${OLDEST} or later, this is ${version}: install a newer one (https://nodejs.org) and try again`
}
