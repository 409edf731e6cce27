import { posix } from 'node:path'

const BLOCK = 512

/** Writes a ustar archive in memory; parent folders are added by themselves. */
export class TarWriter {
  private readonly parts: Buffer[] = []
  private readonly folders = new Set<string>()

  directory(path: string, mode = 0o755): void {
    const name = relative(path)
    if (name === '' || this.folders.has(name)) return
    this.parents(name)
    this.folders.add(name)
    this.parts.push(header(`${name}/`, mode, 0, '5', ''))
  }

  file(path: string, data: Uint8Array | string, mode = 0o644): void {
    const name = relative(path)
    this.parents(name)
    const bytes = Buffer.from(data)
    this.parts.push(header(name, mode, bytes.length, '0', ''), bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK))
  }

  symlink(path: string, target: string): void {
    const name = relative(path)
    this.parents(name)
    this.parts.push(header(name, 0o777, 0, '2', target))
  }

  finish(): Buffer {
    return Buffer.concat([...this.parts, Buffer.alloc(2 * BLOCK)])
  }

  private parents(name: string): void {
    const parent = posix.dirname(name)
    if (parent !== '.') this.directory(parent)
  }
}

const relative = (path: string) => path.replace(/^\/+/, '').replace(/\/+$/, '')
const octal = (n: number, width: number) => `${n.toString(8).padStart(width - 1, '0')}\0`

function header(name: string, mode: number, size: number, type: string, link: string): Buffer {
  if (Buffer.byteLength(name) > 100) throw new Error(`tar: the name ${name} has more than 100 bytes`)
  const h = Buffer.alloc(BLOCK)
  h.write(name, 0)
  h.write(octal(mode, 8), 100)
  h.write(octal(0, 8), 108)
  h.write(octal(0, 8), 116)
  h.write(octal(size, 12), 124)
  h.write(octal(0, 12), 136)
  h.fill(' ', 148, 156)
  h.write(type, 156)
  h.write(link, 157)
  h.write('ustar\x0000', 257)
  let sum = 0
  for (const byte of h) sum += byte
  h.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return h
}
