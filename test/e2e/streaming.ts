/**
 * Streams between upstream's kubectl and containers: exec, attach, cp, port-forward, logs, run, debug.
 * `node test/e2e/streaming.mjs [--runtime real|simulated] [--megabytes N]`
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { freePort, TestCluster } from './cluster.ts'
import { leaks, traces } from './leaks.ts'

interface Arguments {
  runtimes: ('real' | 'simulated')[]
  megabytes: number
  cli: string
  kubectl: string
}

interface Result {
  code: number
  stdout: Buffer
  stderr: string
}

interface RunOptions {
  input?: Uint8Array
  env?: Record<string, string>
  /** Ends the command by SIGINT once this holds for what it has said. */
  until?: (stdout: string) => boolean
  /** Under `script`, so that it has a terminal. */
  terminal?: boolean
}

const LIMIT_MS = 60_000

class Session {
  readonly cluster: TestCluster
  readonly passed: string[] = []
  readonly failed: string[] = []

  constructor(cluster: TestCluster) {
    this.cluster = cluster
  }

  kubectl(args: readonly string[], o: RunOptions = {}): Promise<Result> {
    const bin = join(this.cluster.folder, 'bin', 'kubectl')
    const quoted = [bin, ...args].map((a) => `'${a.replaceAll("'", "'\\''")}'`).join(' ')
    const [command, list] = o.terminal ? ['script', ['-qec', quoted, '/dev/null']] : [bin, [...args]]
    return new Promise((resolve, reject) => {
      const child = spawn(command, list, { env: { ...process.env, ...this.cluster.env, ...o.env }, stdio: 'pipe' })
      const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS)
      const out: Buffer[] = []
      let stderr = ''
      child.stdout.on('data', (b: Buffer) => {
        out.push(b)
        if (o.until?.(Buffer.concat(out).toString())) child.kill('SIGINT')
      })
      child.stderr.on('data', (b: Buffer) => {
        stderr += b.toString()
      })
      child.stdin.on('error', () => {})
      child.stdin.end(o.input)
      child.once('error', reject)
      child.once('close', (code) => {
        clearTimeout(limit)
        resolve({ code: code ?? 128, stdout: Buffer.concat(out), stderr })
      })
    })
  }

  async check(name: string, body: () => Promise<void>): Promise<void> {
    const start = performance.now()
    try {
      await body()
      this.passed.push(name)
      console.log(`ok   ${name}, ${((performance.now() - start) / 1000).toFixed(2)} s`)
    } catch (e) {
      this.failed.push(name)
      console.log(`FAIL ${name}: ${e instanceof Error ? e.message : String(e)}`)
    }
  }
}

function same(what: string, is: unknown, wanted: unknown): void {
  const [a, b] = [JSON.stringify(is), JSON.stringify(wanted)]
  if (a !== b) throw new Error(`${what}: ${a}, not ${b}`)
}

function like(what: string, is: string, wanted: RegExp): void {
  if (!wanted.test(is)) throw new Error(`${what}: ${JSON.stringify(is.slice(-2000))}, not ${wanted}`)
}

const sha256 = (b: Uint8Array) => createHash('sha256').update(b).digest('hex')

/** Bytes that do not compress and have no period (an xorshift). */
function noise(length: number): Buffer {
  const b = Buffer.alloc(length)
  for (let i = 0, x = 88172645; i + 4 <= length; i += 4) {
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    b.writeInt32LE(x | 0, i)
  }
  return b
}

async function runningPods(s: Session, count: number): Promise<void> {
  for (const deadline = performance.now() + LIMIT_MS; ; ) {
    const { stdout } = await s.kubectl(['get', 'pods', '-o', 'jsonpath={.items[*].status.phase}'])
    if (
      stdout
        .toString()
        .split(' ')
        .filter((p) => p === 'Running').length >= count
    )
      return
    if (performance.now() > deadline) throw new Error(`Pods do not run: ${stdout}`)
    await new Promise((r) => setTimeout(r, 200))
  }
}

/** Resident memory of a process in MB. */
const memory = (pid: number) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
const openFiles = (pid: number) => readdirSync(`/proc/${pid}/fd`).length

async function portForward(s: Session, target: string, env: Record<string, string>): Promise<{ port: number; child: ChildProcess }> {
  const port = await freePort()
  const child = spawn(join(s.cluster.folder, 'bin', 'kubectl'), ['port-forward', target, `${port}:80`], {
    env: { ...process.env, ...s.cluster.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  await new Promise<void>((resolve, reject) => {
    let text = ''
    const take = (b: Buffer) => {
      text += b.toString()
      if (text.includes('Forwarding from 127.0.0.1')) resolve()
    }
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    child.once('close', () => reject(new Error(`port-forward ended: ${text}`)))
  })
  return { port, child }
}

const ended = (child: ChildProcess) =>
  new Promise<void>((resolve) => (child.exitCode !== null || child.signalCode ? resolve() : child.once('close', () => resolve())))

const fetchText = (port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    http
      .get({ host: '127.0.0.1', port, path: '/', agent: false, timeout: 10_000 }, (answer) => {
        let text = ''
        answer.on('data', (b: Buffer) => {
          text += b.toString()
        })
        answer.on('end', () => resolve(text))
      })
      .on('error', reject)
  })

async function real(s: Session, megabytes: number): Promise<void> {
  const loop = 'i=0; while true; do echo line $i; i=$((i+1)); sleep 0.2; done'
  await s.cluster.kubectl('run', 'box', '--image=busybox:1.36', '--restart=Never', '--', 'sh', '-c', loop)
  await s.cluster.kubectl('run', 'web', '--image=nginx:1.27')
  await s.cluster.kubectl('run', 'again', '--image=busybox:1.36', '--', 'sh', '-c', 'echo life $(cat /proc/uptime); sleep 1')
  await runningPods(s, 3)
  const { k8ts } = await s.cluster.pids()
  const files = openFiles(k8ts)

  for (const [how, env] of [
    ['WebSocket', {}],
    ['SPDY', { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' }],
  ] as [string, Record<string, string>][]) {
    await s.check(`${how}: exec keeps stdout, stderr and the exit code apart`, async () => {
      const r = await s.kubectl(['exec', 'box', '--', 'sh', '-c', 'echo out; echo err >&2; exit 3'], { env })
      same('code', r.code, 3)
      same('stdout', r.stdout.toString(), 'out\n')
      like('stderr', r.stderr, /^err\ncommand terminated with exit code 3\n$/)
    })
    await s.check(`${how}: exec -i ends when its input does`, async () => {
      const r = await s.kubectl(['exec', '-i', 'box', '--', 'sh', '-c', 'cat; echo end'], { env, input: Buffer.from('a\nb\n') })
      same('result', [r.code, r.stdout.toString()], [0, 'a\nb\nend\n'])
    })
    await s.check(`${how}: exec -it has a terminal of the client's size`, async () => {
      const r = await s.kubectl(['exec', '-it', 'box', '--', 'sh', '-c', 'test -t 0 && test -t 1 && tty; exit 5'], { env, terminal: true })
      like('output', r.stdout.toString(), /\/dev\/pts\/0\r\n/)
      same('code', r.code, 5)
    })
    await s.check(`${how}: ${megabytes} MB both ways, unchanged`, async () => {
      const bytes = noise(megabytes * 1024 * 1024)
      const before = memory(k8ts)
      const r = await s.kubectl(['exec', '-i', 'box', '--', 'cat'], { env, input: bytes })
      same('sha256', [r.code, r.stdout.length, sha256(r.stdout)], [0, bytes.length, sha256(bytes)])
      const grown = memory(k8ts) - before
      if (grown > 120) throw new Error(`memory grew by ${grown.toFixed(0)} MB`)
    })
    await s.check(`${how}: port-forward`, async () => {
      const { port, child } = await portForward(s, 'pod/web', env)
      try {
        const pages = await Promise.all(Array.from({ length: 5 }, () => fetchText(port)))
        for (const page of pages) like('page', page, /Welcome to nginx!/)
      } finally {
        child.kill('SIGINT')
        await ended(child)
      }
    })
    await s.check(`${how}: attach`, async () => {
      const r = await s.kubectl(['attach', 'box'], { env, until: (text) => /line \d+\nline \d+\n/.test(text) })
      like('output', r.stdout.toString(), /line \d+\nline \d+\n/)
    })
  }
  await s.check('exec of what cannot run', async () => {
    const r = await s.kubectl(['exec', 'box', '--', '/no/such/thing'])
    if (r.code === 0) throw new Error('ended well')
    like('stderr', r.stderr, /no such file or directory/)
    like('no container', (await s.kubectl(['exec', 'box', '-c', 'other', '--', 'ls'])).stderr, /container other is not valid for pod box|container not found/)
  })
  await s.check('cp both ways', async () => {
    const bytes = noise(3_000_000)
    const [there, back] = [join(s.cluster.folder, 'there'), join(s.cluster.folder, 'back')]
    writeFileSync(there, bytes)
    same('to the container', (await s.kubectl(['cp', there, 'box:/tmp/there'])).code, 0)
    same('from the container', (await s.kubectl(['cp', 'box:/tmp/there', back])).code, 0)
    same('sha256', sha256(readFileSync(back)), sha256(bytes))
  })
  await s.check('logs -f, --tail', async () => {
    const r = await s.kubectl(['logs', '-f', '--tail=1', 'box'], { until: (text) => text.split('\n').length > 3 })
    like('output', r.stdout.toString(), /^line \d+\nline \d+\nline \d+\n/)
  })
  await s.check('logs --previous', async () => {
    for (const deadline = performance.now() + LIMIT_MS; performance.now() < deadline; ) {
      const { stdout } = await s.kubectl(['get', 'pod', 'again', '-o', 'jsonpath={.status.containerStatuses[0].restartCount}'])
      if (Number(stdout.toString()) > 0) break
      await new Promise((r) => setTimeout(r, 200))
    }
    const before = await s.kubectl(['logs', '--previous', 'again'])
    like('previous', before.stdout.toString(), /^life [\d.]+ [\d.]+\n$/)
  })
  await s.check('run -i: the exit code of the container', async () => {
    const r = await s.kubectl(['run', 'once', '-i', '--rm', '--restart=Never', '--image=busybox:1.36', '--', 'sh', '-c', 'cat; exit 7'], {
      input: Buffer.from('typed\n'),
    })
    like('output', r.stdout.toString(), /typed\n/)
    same('code', r.code, 7)
  })
  await s.check('debug: an ephemeral container sees its target', async () => {
    await s.cluster.kubectl('debug', 'web', '-c', 'look', '--image=busybox:1.36', '--target=web', '--', 'sh', '-c', 'tr "\\0" " " < /proc/1/cmdline')
    for (const deadline = performance.now() + LIMIT_MS; ; ) {
      const { code, stdout } = await s.kubectl(['logs', 'web', '-c', 'look'])
      if (code === 0 && stdout.length > 0) return like('output', stdout.toString(), /^nginx: master process/)
      if (performance.now() > deadline) throw new Error('no output')
      await new Promise((r) => setTimeout(r, 200))
    }
  })
  await s.check('a client that dies leaves nothing open', async () => {
    const child = spawn(join(s.cluster.folder, 'bin', 'kubectl'), ['exec', '-i', 'box', '--', 'cat'], {
      env: { ...process.env, ...s.cluster.env },
      stdio: 'pipe',
    })
    child.stdin.write('x\n')
    await new Promise<void>((resolve) => child.stdout.once('data', () => resolve()))
    const processes = async () => (await s.kubectl(['exec', 'box', '--', 'sh', '-c', 'ls /proc | grep -c "^[0-9]"'])).stdout.toString().trim()
    const during = Number(await processes())
    child.kill('SIGKILL')
    await ended(child)
    for (const deadline = performance.now() + 15_000; ; ) {
      const now = Number(await processes())
      const left = openFiles(k8ts) - files
      if (now < during && left < 10) break
      if (performance.now() > deadline) throw new Error(`${now} processes (were ${during}), ${left} more open files`)
      await new Promise((r) => setTimeout(r, 300))
    }
  })
  await s.kubectl(['delete', 'pods', '--all', '--now'])
}

async function simulated(s: Session): Promise<void> {
  await s.cluster.kubectl('run', 'box', '--image=busybox', '--', 'sleep', '1000')
  await runningPods(s, 1)
  for (const [how, env] of [
    ['WebSocket', {}],
    ['SPDY', { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' }],
  ] as [string, Record<string, string>][]) {
    await s.check(`${how}: exec says that nothing runs`, async () => {
      const r = await s.kubectl(['exec', 'box', '--', 'ls'], { env })
      if (r.code === 0) throw new Error('ended well')
      like('stderr', r.stderr, /container "box" is simulated: no process is behind it/)
    })
    await s.check(`${how}: attach shows the log`, async () => {
      const r = await s.kubectl(['attach', 'box'], { env, until: (text) => text.includes('simulated') })
      like('output', r.stdout.toString(), /simulated: container box/)
    })
    await s.check(`${how}: port-forward says that there is no network`, async () => {
      const { port, child } = await portForward(s, 'pod/box', env)
      let told = ''
      child.stderr?.on('data', (b: Buffer) => {
        told += b.toString()
      })
      await fetchText(port).catch(() => {})
      child.kill('SIGINT')
      await ended(child)
      like('stderr', told, /no network behind its Pods/)
    })
  }
  await s.check('logs -f', async () => {
    const r = await s.kubectl(['logs', '-f', 'box'], { until: (text) => text.includes('\n') })
    like('output', r.stdout.toString(), /simulated/)
  })
}

export async function main(a: Arguments): Promise<number> {
  let passed = 0
  let failed = 0
  for (const runtime of a.runtimes) {
    const s = new Session(new TestCluster({ runtime, nodeName: 'node-1', cli: a.cli, kubectl: a.kubectl }))
    const before = traces(s.cluster.folder, runtime)
    try {
      await s.cluster.up()
      await s.cluster.settled()
      await (runtime === 'real' ? real(s, a.megabytes) : simulated(s))
    } catch (e) {
      s.failed.push(runtime)
      console.log(`FAIL ${runtime}: ${e instanceof Error ? e.message : String(e)}\n${s.cluster.log(20)}`)
    }
    await s.check(`nothing is left of the ${runtime} cluster`, async () => {
      await s.cluster.down()
      same('left', leaks(before, traces(s.cluster.folder, runtime)), [])
    })
    s.cluster.remove()
    passed += s.passed.length
    failed += s.failed.length
  }
  console.log(`${passed} passed, ${failed} failed`)
  return failed === 0 ? 0 : 1
}
