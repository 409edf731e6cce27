import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'

/** Another living process has the store open. */
export class StoreLockedError extends Error {
  constructor(path: string, pid: number) {
    super(`the store ${path} is in use by process ${pid}`)
    this.name = 'StoreLockedError'
  }
}

interface Owner {
  pid: number
  /** Tells this process from a later one with the same number, where the system says; '' elsewhere. */
  birth: string
}

function birthOf(pid: number): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // Fields after the command's closing parenthesis; the 20th is the start time.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // A killed process that nobody has waited for holds nothing any more.
    if (fields[0] === 'Z' || fields[0] === 'X') return 'dead'
    return `${boot}/${fields[19]}`
  } catch {
    return ''
  }
}

function isAlive(owner: Owner): boolean {
  try {
    process.kill(owner.pid, 0)
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  return owner.birth === '' || birthOf(owner.pid) === owner.birth
}

function readOwner(path: string): Owner | undefined {
  try {
    const owner = JSON.parse(readFileSync(path, 'utf8')) as Owner
    return Number.isInteger(owner.pid) ? owner : undefined
  } catch {
    return undefined
  }
}

/** Takes the lock; a lock whose owner died is taken over. Throws StoreLockedError. @returns gives it back */
export function lockFile(path: string, store: string): () => void {
  const me: Owner = { pid: process.pid, birth: birthOf(process.pid) }
  const text = JSON.stringify(me)
  try {
    writeFileSync(path, text, { flag: 'wx', mode: 0o600 })
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code !== 'EEXIST') throw e
    const owner = readOwner(path)
    if (owner && isAlive(owner)) throw new StoreLockedError(store, owner.pid)
    const mine = `${path}.${process.pid}`
    writeFileSync(mine, text, { mode: 0o600 })
    renameSync(mine, path)
    const now = readOwner(path)
    if (now && (now.pid !== me.pid || now.birth !== me.birth)) throw new StoreLockedError(store, now.pid)
  }
  return () => rmSync(path, { force: true })
}
