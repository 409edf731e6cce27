/**
 * The process of a Pod's sandbox: it waits for SIGTERM or SIGINT and lets the kernel take its children's exits. Made here, so that no
 * compiler and no registry is needed. On x86-64 it is an executable of a few hundred bytes; elsewhere busybox's shell does it.
 */
export interface PauseProgram {
  /** Undefined: use `entrypoint` on a busybox layer. */
  executable: Uint8Array | undefined
  entrypoint: string[]
}

const LOAD_ADDRESS = 0x400000
const HEADERS = 64 + 56

/*
 * x86-64, position-independent:
 *   rt_sigaction(SIGCHLD, {SIG_IGN, SA_NOCLDWAIT}); rt_sigprocmask(SIG_BLOCK, {SIGINT, SIGTERM})
 *   again: rt_sigtimedwait({SIGINT, SIGTERM}) → if > 0 exit(0), else again
 * The last 40 bytes are the sigaction and the signal set.
 */
const X86_64 =
  'uA0AAAC/EQAAAEiNNU8AAAAx0kG6CAAAAA8FuA4AAAAx/0iNNVcAAAAx0kG6CAAAAA8FuIAAAABIjT1BAAAAMfYx0kG6CAAAAA8Fg/gAfuO4PAAAADH/DwUPH4AAAAAAAQAAAAAAAAACAAAEAAAAAAAAAAAAAAAAAAAAAAAAAAACQAAAAAAAAA=='

export function pauseProgram(arch: string = process.arch): PauseProgram {
  if (arch === 'x64') return { executable: elf(Buffer.from(X86_64, 'base64')), entrypoint: ['/pause'] }
  return { executable: undefined, entrypoint: ['/bin/sh', '-c', 'trap "exit 0" TERM INT; while :; do sleep 2147483647 & wait; done'] }
}

/** A static executable of one segment: ELF header, program header, code. */
function elf(code: Uint8Array): Buffer {
  const file = Buffer.alloc(HEADERS + code.length)
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]).copy(file)
  file.writeUInt16LE(2, 16) // executable
  file.writeUInt16LE(62, 18) // x86-64
  file.writeUInt32LE(1, 20)
  file.writeBigUInt64LE(BigInt(LOAD_ADDRESS + HEADERS), 24) // entry
  file.writeBigUInt64LE(64n, 32) // program headers
  file.writeUInt16LE(64, 52)
  file.writeUInt16LE(56, 54)
  file.writeUInt16LE(1, 56)
  file.writeUInt32LE(1, 64) // load
  file.writeUInt32LE(5, 68) // read and execute
  file.writeBigUInt64LE(BigInt(LOAD_ADDRESS), 80)
  file.writeBigUInt64LE(BigInt(LOAD_ADDRESS), 88)
  file.writeBigUInt64LE(BigInt(file.length), 96)
  file.writeBigUInt64LE(BigInt(file.length), 104)
  file.writeBigUInt64LE(0x1000n, 112)
  file.set(code, HEADERS)
  return file
}
