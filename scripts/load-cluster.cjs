'use strict'
/**
 * Loads the cluster's code, compiled if somebody here ran it before with the same Node.js: V8's compiled form is kept in a file beside the
 * code, or in the user's cache folder where that one is not theirs. A form of other code, of another V8 or a damaged one is not used.
 */
const { createHash } = require('node:crypto')
const { closeSync, fstatSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } = require('node:fs')
const { homedir } = require('node:os')
const { join } = require('node:path')
const vm = require('node:vm')

const path = join(__dirname, 'cluster.cjs')
/** Against accidents, not attackers: whoever can write the file can write the digest. */
const DIGEST = 20
const digest = (bytes) => createHash('sha1').update(bytes).digest()
const name = `__CLUSTER_HASH__-${process.version}-${process.arch}.code`
// Options may change what V8 compiles: it then refuses what was compiled without them.
const usual = process.execArgv.length === 0 && !process.env.NODE_OPTIONS

function folders() {
  return [join(__dirname, '.code'), join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'k8ts')]
}

/** Only what this user or root wrote, and nobody else can change, is run. */
function readOwn(file) {
  let fd
  try {
    fd = openSync(file, 'r')
    const { uid, mode } = fstatSync(fd)
    if (process.getuid && ((uid !== process.getuid() && uid !== 0) || (mode & 0o022) !== 0)) return undefined
    const bytes = readFileSync(fd)
    const data = bytes.subarray(DIGEST)
    return data.length > 0 && digest(data).equals(bytes.subarray(0, DIGEST)) ? data : undefined
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

let script
let wanted = false
let exported

module.exports = () => {
  if (exported) return exported
  let cachedData
  for (const folder of folders()) cachedData ??= readOwn(join(folder, name))
  // All of it is ASCII: half the memory.
  const source = `(function(exports,require,module,__filename,__dirname){${readFileSync(path, 'latin1')}\n})`
  script = new vm.Script(source, { filename: path, cachedData })
  wanted = usual && (!cachedData || script.cachedDataRejected === true)
  const module_ = { exports: {} }
  script.runInThisContext()(module_.exports, require, module_, path, __dirname)
  exported = module_.exports
  return exported
}

/** Keeps the compiled form of what has run so far, once; does nothing when one was there. */
module.exports.saveCompiledCode = () => {
  if (!wanted) return
  wanted = false
  const data = script.createCachedData()
  for (const folder of folders()) {
    const file = join(folder, name)
    const temporary = `${file}.${process.pid}`
    try {
      mkdirSync(folder, { recursive: true, mode: 0o755 })
      if (process.getuid && statSync(folder).uid !== process.getuid()) continue
      const fd = openSync(temporary, 'wx', 0o644)
      try {
        writeSync(fd, digest(data))
        writeSync(fd, data)
        fsyncSync(fd)
      } finally {
        closeSync(fd)
      }
      renameSync(temporary, file)
      return
    } catch {
      rmSync(temporary, { force: true })
    }
  }
}
