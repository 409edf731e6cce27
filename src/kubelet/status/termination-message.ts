import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

const FILE_LIMIT = 4096
const LOG_LINES = 80
const LOG_LIMIT = 2048

/** What a container left as its last word: the end of its file, else (where wanted) the end of its log. Read at once: both are small. */
export function terminationMessage(o: { file: string | undefined; log: string | undefined; useLog: boolean }): string {
  let text = ''
  if (o.file !== undefined) {
    try {
      text = tail(o.file, FILE_LIMIT)
    } catch (error) {
      const e = error as NodeJS.ErrnoException
      if (e.code !== 'ENOENT') return `Error on reading termination log ${o.file}: ${e.message}`
    }
  }
  if (text !== '' || !o.useLog || o.log === undefined) return text
  try {
    const lines = tail(o.log, 64 * 1024)
      .split('\n')
      .filter((l) => l !== '')
      .slice(-LOG_LINES)
      .map((l) => {
        const m = /^\S+ (?:stdout|stderr) ([FP])\S* (.*)$/s.exec(l)
        return m ? m[2] + (m[1] === 'F' ? '\n' : '') : ''
      })
      .join('')
    return lines.slice(-LOG_LIMIT)
  } catch {
    return ''
  }
}

function tail(path: string, limit: number): string {
  const fd = openSync(path, 'r')
  try {
    const { size } = fstatSync(fd)
    const length = Math.min(size, limit)
    const buffer = Buffer.alloc(length)
    readSync(fd, buffer, 0, length, size - length)
    return buffer.toString('utf8')
  } finally {
    closeSync(fd)
  }
}
