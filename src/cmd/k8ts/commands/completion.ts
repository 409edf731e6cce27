import { suggest, UsageError } from '../../../component-base/flags/index.ts'
import type { Command } from '../command.ts'

const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const

/** Each asks `k8ts __complete WORD…` (the last word as far as it is typed): one candidate on a line, its description behind a tab. */
const SCRIPTS: Record<(typeof SHELLS)[number], string> = {
  bash: `# bash completion for k8ts: source <(k8ts completion bash)
_k8ts() {
  local IFS=$'\\n' line word
  COMPREPLY=()
  # Words as bash splits them, put together again where it splits at = and :
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  while read -r line; do
    word="\${line%%$'\\t'*}"
    [[ -n "$word" ]] && COMPREPLY+=("$word")
  done < <(k8ts __complete "\${words[@]}" 2>/dev/null)
  [[ \${#COMPREPLY[@]} -eq 1 && "\${COMPREPLY[0]}" == *= ]] && compopt -o nospace
  return 0
}
complete -o default -F _k8ts k8ts
`,
  zsh: `#compdef k8ts
# zsh completion for k8ts: source <(k8ts completion zsh), or save it as _k8ts in a folder of $fpath
_k8ts() {
  local -a lines candidates
  local line
  lines=("\${(@f)$(k8ts __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in $lines; do
    [[ -n "$line" ]] && candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}\${\${(M)line:#*$'\\t'*}:+:\${line#*$'\\t'}}")
  done
  if (( \${#candidates} )); then _describe k8ts candidates; else _files; fi
}
if [[ "$funcstack[1]" == "_k8ts" ]]; then _k8ts; else compdef _k8ts k8ts; fi
`,
  fish: `# fish completion for k8ts: k8ts completion fish | source
function __k8ts_complete
  set -l words (commandline -opc) (commandline -ct)
  k8ts __complete $words[2..-1] 2>/dev/null
end
complete -c k8ts -f -a '(__k8ts_complete)'
`,
  powershell: `# PowerShell completion for k8ts: k8ts completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName k8ts -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
  if ($wordToComplete -eq '') { $words += if ($PSVersionTable.PSVersion -lt [version]'7.3.0') { '""' } else { '' } }
  k8ts __complete @words 2>$null | ForEach-Object {
    $parts = $_ -split "\`t", 2
    $tip = if ($parts.Length -gt 1) { $parts[1] } else { $parts[0] }
    [System.Management.Automation.CompletionResult]::new($parts[0], $parts[0], 'ParameterValue', $tip)
  }
}
`,
}

const command: Command = {
  usage: 'completion bash|zsh|fish|powershell',
  summary: 'print a script that completes commands and flags in a shell',
  examples: `source <(k8ts completion bash)
k8ts completion zsh > "\${fpath[1]}/_k8ts"
k8ts completion fish | source`,
  flags: {},
  words: [SHELLS],
  async run(flags, io) {
    const [shell = '', ...more] = flags.args
    if (!Object.hasOwn(SCRIPTS, shell) || more.length > 0) throw new UsageError(`name one shell of ${SHELLS.join(', ')}${suggest(shell, SHELLS)}`)
    io.out(SCRIPTS[shell as (typeof SHELLS)[number]])
    return 0
  },
}
export default command
