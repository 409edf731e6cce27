/**
 * Time, chance and ids are injected: no source outside base/ reads the platform's clock, timers, random numbers or UUIDs, and
 * no module keeps mutable state. Tests, scripts and benches are free.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const BANNED = [
  [/\bDate\.now\(/, 'Date.now(): take clock.now()'],
  [/\bnew Date\(\)/, 'new Date(): take clock.now()'],
  [/(?<![.\w])(setTimeout|setInterval)\(/, 'platform timer: take clock.setTimeout or clock.setInterval'],
  [/\bMath\.random\(/, 'Math.random(): take the injected Random'],
  [/\brandomUUID\(/, 'randomUUID(): take random.uuid()'],
  [/^let \w/, 'module-level mutable state: put it into an object that somebody creates'],
]
let files = 0
let bad = 0
const walk = (dir) => {
  for (const e of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, e.name)
    if (e.isDirectory()) {
      if (path !== join('src', 'base') && path !== join('src', 'testing')) walk(path)
    } else if (e.name.endsWith('.ts') && !e.name.endsWith('.test.ts') && !e.name.endsWith('.generated.ts')) {
      files++
      readFileSync(path, 'utf8')
        .split('\n')
        .forEach((line, i) => {
          if (/^\s*(\/\/|\*|\/\*)/.test(line)) return
          for (const [re, why] of BANNED) {
            if (re.test(line)) {
              bad++
              console.error(`${path}:${i + 1}: ${why}`)
            }
          }
        })
    }
  }
}
walk('src')
console.log(`injected time and chance: ${files} files, ${bad} violations`)
process.exit(bad || files < 20 ? 1 : 0)
