import { scrub } from '../walkthrough/compare.ts'

/** Numbers from a seed (mulberry32), so that a failing draw can be drawn again. */
export class Draw {
  private state: number
  constructor(seed: number) {
    this.state = seed >>> 0
  }
  /** From lo to hi, both included. */
  int(lo: number, hi: number): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let t = this.state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return lo + (((t ^ (t >>> 14)) >>> 0) % (hi - lo + 1))
  }
  pick<T>(items: readonly T[]): T {
    return items[this.int(0, items.length - 1)] as T
  }
  /** A DNS label without digits, so that nothing takes it for a hash. */
  name(): string {
    const letters = 'abcdefghijklmnopqrstuvwxyz'
    return `${Array.from({ length: this.int(3, 6) }, () => letters[this.int(0, 25)]).join('')}-${this.pick(['web', 'api', 'shop', 'app'])}`
  }
}

export interface Variant {
  /** What becomes what on the page. */
  words: Record<string, string>
  /** The page with another number of rows. */
  shape(text: string): string
  /** One line for the reader of the test's output. */
  told: string
}

/** What stays as it is, though it holds a word that is varied. */
const KEEP = [
  'docker.io/library/nginx',
  'Welcome to nginx',
  'image `nginx`',
  'nginx.yaml',
  '--image=nginx',
  '"nginx"',
  'with nginx',
  'nginx answers',
  'really nginx',
]
const keep = Object.fromEntries(KEEP.map((k) => [k, k]))

/** The same page with names, labels, counts, requests and the node's name drawn anew; undefined: the page has no variants. */
export function variant(page: number, runtime: 'real' | 'simulated', draw: Draw): Variant | undefined {
  const node = draw.name().replace(/-\w+$/, '-node')
  const same = (text: string) => text
  switch (page) {
    case 1: {
      const name = draw.name()
      const label = draw.pick(['layer', 'part', 'example.com/part'])
      const value = draw.name()
      const count = draw.int(1, 6)
      const cpu = `${draw.int(1, 12) * 10}m`
      const memory = `${draw.int(8, 200)}Mi`
      const tag = runtime === 'real' ? '1.27' : `1.${draw.int(20, 29)}`
      return {
        words: {
          ...keep,
          'deployment "nginx"': `deployment "${name}"`,
          'deployment.apps "nginx"': `deployment.apps "${name}"`,
          'docker.io/library/nginx:1.27': `docker.io/library/nginx:${tag}`,
          nginx: name,
          'app: nginx': `${label}: ${value}`,
          'app=nginx': `${label}=${value}`,
          '100m': cpu,
          '128Mi': memory,
          'node-1': node,
          'replicas: 3': `replicas: ${count}`,
          '--replicas=4': `--replicas=${count + 1}`,
          '3/3     3            3 ': `${count}/${count}     ${count}            ${count} `,
          '3         3         3 ': `${count}         ${count}         ${count} `,
        },
        shape: (text) => repeatRows(text, 3, count),
        told: `${name}, ${label}=${value}, ${count} replicas, ${tag}, ${cpu}, ${memory}, on ${node}`,
      }
    }
    case 2: {
      const name = draw.name()
      const label = draw.pick(['layer', 'part', 'piece'])
      const value = draw.name()
      // Less than the 20m that the page changes to: the same would be no change.
      const cpu = `${draw.int(1, 3) * 5}m`
      const memory = `${draw.int(8, 64)}Mi`
      return {
        words: {
          ...keep,
          'deployment.apps "nginx"': `deployment.apps "${name}"`,
          'deployment "nginx"': `deployment "${name}"`,
          nginx: name,
          'app: nginx': `${label}: ${value}`,
          'app=nginx': `${label}=${value}`,
          'cpu: 10m': `cpu: ${cpu}`,
          '16Mi': memory,
          'node-1': node,
        },
        shape: same,
        told: `${name}, ${label}=${value}, ${cpu}, ${memory}, on ${node}`,
      }
    }
    case 3: {
      const name = draw.name()
      return { words: { 'log-test': name, 'node-1': node }, shape: same, told: `${name} on ${node}` }
    }
    case 4: {
      const [waiting, web, healed, hello] = [draw.name(), draw.name(), draw.name(), draw.name()]
      return {
        words: {
          ...keep,
          // Words of the page, and not names.
          'waiting for': 'waiting for',
          ' waiting ': ` ${waiting} `,
          'pod/waiting': `pod/${waiting}`,
          'run waiting': `run ${waiting}`,
          'pod waiting': `pod ${waiting}`,
          'pod "waiting"': `pod "${waiting}"`,
          '\nwaiting ': `\n${waiting} `,
          'deployment web': `deployment ${web}`,
          'apps/web': `apps/${web}`,
          'apps "web"': `apps "${web}"`,
          'apps/healed': `apps/${healed}`,
          'web-7d9c5bd5b6': `${web}-7d9c5bd5b6`,
          'deployment healed': `deployment ${healed}`,
          'web healed': `${web} ${healed}`,
          'deployment web healed': `deployment ${web} ${healed}`,
          'apps "healed"': `apps "${healed}"`,
          '\nhealed ': `\n${healed} `,
          'name: hello': `name: ${hello}`,
          'hello-node-1': `${hello}-${node}`,
          'node-1': node,
        },
        shape: sortedRows(waiting, `${hello}-${node}`),
        told: `${waiting}, ${web}, ${healed}, ${hello} on ${node}`,
      }
    }
    case 5: {
      const [huge, first, second, third] = [draw.name(), draw.name(), draw.name(), draw.name()]
      // The components ask for 650m and cluster DNS for 100m: of two CPUs that leaves 62 %.
      const share = draw.int(51, 61)
      return {
        words: {
          ...keep,
          huge,
          'huge.yaml': 'huge.yaml',
          'The huge': 'The huge',
          'NAME/first': `NAME/${first}`,
          'pod/first': `pod/${first}`,
          'pod first': `pod ${first}`,
          'pods first second': `pods ${first} ${second}`,
          'pod "first"': `pod "${first}"`,
          '\nfirst ': `\n${first} `,
          'NAME/second': `NAME/${second}`,
          'pod/second': `pod/${second}`,
          'pod second': `pod ${second}`,
          'pod "second"': `pod "${second}"`,
          '\nsecond ': `\n${second} `,
          'huge second third': `${huge} ${second} ${third}`,
          'NAME/third': `NAME/${third}`,
          'pod/third': `pod/${third}`,
          'pod third': `pod ${third}`,
          'pod "third"': `pod "${third}"`,
          '\nthird ': `\n${third} `,
          '* 600 ': `* ${share * 10} `,
          '5000': String(draw.int(1000, 9000)),
          'worker-1': `worker-${draw.int(2, 9)}`,
          'node-1': node,
        },
        shape: same,
        told: `${huge}, ${first}, ${second}, ${third}, ${share} % each, on ${node}`,
      }
    }
    default:
      return undefined
  }
}

/** Every run of `from` lines that differ only in what may vary becomes one of `to` lines. */
export function repeatRows(text: string, from: number, to: number): string {
  const lines = text.split('\n')
  const out: string[] = []
  for (let i = 0; i < lines.length; ) {
    const first = scrub(lines[i] as string)
    let n = 1
    while (first.includes('<random>') && i + n < lines.length && scrub(lines[i + n] as string) === first) n++
    if (n === from) out.push(...Array.from({ length: to }, () => lines[i] as string))
    else out.push(...lines.slice(i, i + n))
    i += n
  }
  return out.join('\n')
}

/** kubectl lists by name: the page's two last Pods change places when their new names sort the other way. */
function sortedRows(waiting: string, hello: string): (text: string) => string {
  return (text) => {
    if (hello < waiting) return text
    return text.replace(/^(hello-node-1 .*)\n(waiting .*)$/m, '$2\n$1')
  }
}
