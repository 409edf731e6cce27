import { execFile } from 'node:child_process'
import type { FlagSpecs } from '../../component-base/flags/index.ts'
import type { Command, CommandIO } from './command.ts'
import { findKubectl } from './commands/kubectl.ts'
import { dataDirOf } from './data-dir-flag.ts'

const TIMEOUT_MS = 3000

export interface Candidate {
  word: string
  about?: string
}

/**
 * What the last of the words may become; the words before it are complete. Inside of `k8ts kubectl`, kubectl is asked.
 * @param commands names with what loads each
 */
export async function complete(
  words: readonly string[],
  commands: Readonly<Record<string, () => Promise<{ default: Command }>>>,
  io: CommandIO,
): Promise<Candidate[]> {
  const last = words.at(-1) ?? ''
  const [name] = words
  if (words.length <= 1) {
    const names = [...Object.keys(commands).filter((n) => n.startsWith(last)), ...['help'].filter((n) => n.startsWith(last))]
    return Promise.all(
      names.map(async (word) => ({ word, about: word === 'help' ? 'help about a command' : ((await commands[word]?.())?.default.summary ?? '') })),
    )
  }
  if (name === 'help') return words.length > 2 ? [] : complete([last], commands, io)
  const load = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!load) return []
  if (name === 'kubectl') return ofKubectl(words.slice(1), io)
  const { default: command } = await load()
  return ofCommand(command, words.slice(1))
}

function ofCommand(command: Command, words: readonly string[]): Candidate[] {
  const last = words.at(-1) ?? ''
  const flags: FlagSpecs = { ...command.flags, help: { kind: 'bool', short: 'h', usage: 'help for this command' } }
  const before = words.at(-2) ?? ''
  const specOf = (name: string) => (Object.hasOwn(flags, name) ? flags[name] : undefined)
  const joined = /^--([a-z0-9-]+)=(.*)$/.exec(last)
  if (joined) {
    const [, flag = '', typed = ''] = joined
    return (specOf(flag)?.values ?? []).filter((v) => v.startsWith(typed)).map((v) => ({ word: `--${flag}=${v}` }))
  }
  const asked = before.startsWith('--')
    ? specOf(before.slice(2))
    : /^-[a-z]$/.test(before)
      ? Object.values(flags).find((f) => f.short === before[1])
      : undefined
  if (asked && asked.kind !== 'bool' && asked.noValue === undefined) return (asked.values ?? []).filter((v) => v.startsWith(last)).map((word) => ({ word }))
  if (last.startsWith('-')) {
    return Object.entries(flags)
      .filter(([flag, spec]) => !spec.hidden && `--${flag}`.startsWith(last))
      .map(([flag, spec]) => ({ word: `--${flag}`, about: spec.usage }))
  }
  // Arguments so far: no flags, nor values of flags.
  let place = 0
  for (let i = 0; i < words.length - 1; i++) {
    const word = words[i] as string
    const flag = word.startsWith('--') ? specOf(word.slice(2)) : undefined
    if (!word.startsWith('-')) place++
    else if (flag && flag.kind !== 'bool' && flag.noValue === undefined) i++
  }
  return (command.words?.[place] ?? []).filter((w) => w.startsWith(last)).map((word) => ({ word }))
}

/** Cobra's protocol: candidates, then a line `:N` with directives. */
async function ofKubectl(words: readonly string[], io: CommandIO): Promise<Candidate[]> {
  const path = await findKubectl(io)
  if (!path) return []
  const none = { has: () => false, string: () => '' } as unknown as Parameters<typeof dataDirOf>[0]
  const env = { ...io.env, KUBECONFIG: dataDirOf(none, io).kubeconfig } as NodeJS.ProcessEnv
  const text = await new Promise<string>((resolve) => {
    execFile(path, ['__complete', ...words], { env, timeout: TIMEOUT_MS }, (_error, stdout) => resolve(stdout))
  })
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith(':') && !line.startsWith('_activeHelp_'))
    .map((line) => {
      const tab = line.indexOf('\t')
      return tab < 0 ? { word: line } : { word: line.slice(0, tab), about: line.slice(tab + 1) }
    })
}
