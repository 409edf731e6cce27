import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DecodeError, JSONBody, JSONSyntaxError } from '../apimachinery/json/index.ts'
import { goldenFolder } from '../testing/golden.ts'
import { scheme } from './scheme.ts'

const golden = goldenFolder('recorded')

interface Step {
  do?: string
  raw?: string
  body?: unknown
  headers?: Record<string, string>
  want?: { status?: number; warning?: string | string[]; body?: { message?: string; '/message'?: string } }
}

interface Case {
  where: string
  url: string
  text: string
  want: NonNullable<Step['want']>
  kind: string
  schema: ReturnType<(typeof scheme.resources)[number]['schema']>
}

/** Recorded creates with a JSON body whose decoding decided, or did not hinder, the answer. */
function cases(): Case[] {
  const out: Case[] = []
  for (const file of readdirSync(golden)) {
    for (const c of JSON.parse(readFileSync(join(golden, file), 'utf8')) as { name: string; steps: Step[] }[]) {
      for (const s of c.steps) {
        const m = /^(?:POST|PUT) \/(?:api|apis\/([^/]+))\/([^/?]+)(?:\/namespaces\/[^/?]+)?\/([a-z]+)(?:\/[^/?]+)?(?:\?.*)?$/.exec(s.do ?? '')
        if (!m || !s.want || (s.raw === undefined && s.body === undefined)) continue
        if (s.headers && Object.entries(s.headers).some(([k, v]) => /content-type/i.test(k) && !/^application\/json$/i.test(v))) continue
        const info = scheme.forResource({ group: m[1] ?? '', version: m[2] as string, resource: m[3] as string })
        if (!info) continue
        const text = s.raw ?? JSON.stringify(s.body)
        out.push({ where: `${file} ${c.name}`, url: s.do as string, text, want: s.want, kind: info.kind, schema: info.schema() })
      }
    }
  }
  return out
}

describe.skipIf(!golden)('decoding against recorded answers', () => {
  const all = golden ? cases() : []

  it('decodes every body that was accepted', () => {
    const accepted = all.filter((c) => (c.want.status ?? 0) < 400)
    expect(accepted.length).toBeGreaterThan(1000)
    for (const c of accepted) {
      const strict = !/fieldValidation=Ignore/.test(c.url)
      const { strictErrors } = JSONBody.parse(c.text).decode(c.schema, { strict })
      const warnings = [c.want.warning ?? []].flat().join('\n')
      for (const e of strictErrors) expect(warnings.replaceAll('\\"', '"'), `${c.where} ${c.text.slice(0, 200)}`).toContain(e)
      const told = (warnings.match(/(?:unknown|duplicate) field/g) ?? []).length
      expect(strictErrors.length, `${c.where} ${c.text.slice(0, 200)} ${warnings}`).toBe(told)
    }
  })

  it('refuses with the recorded text what was refused', () => {
    let compared = 0
    for (const c of all) {
      const message = c.want.body?.message ?? c.want.body?.['/message']
      if (c.want.status !== 400 || !message) continue
      const unrecognized =
        /^the object provided is unrecognized \(must be of type \w+\): couldn't get version\/kind; json parse error: ([\s\S]*) \([\s\S]*\)$/.exec(message)?.[1]
      const handled = /cannot be handled as a \w+: ((?:json:|parsing|quantities|illegal|strict decoding|unable to parse q|time: )[\s\S]*)$/.exec(message)?.[1]
      const want = unrecognized ?? handled
      if (want === undefined) continue
      compared++
      expect(failure(c), `${c.where} ${c.text.slice(0, 300)}`).toBe(want)
    }
    expect(compared).toBeGreaterThan(90)
  })
})

function failure(c: Case): string {
  try {
    const body = JSONBody.parse(c.text)
    body.typeMeta()
    const { strictErrors } = body.decode(c.schema, { strict: /fieldValidation=Strict/.test(c.url) })
    return strictErrors.length ? `strict decoding error: ${strictErrors.join(', ')}` : 'no error'
  } catch (e) {
    if (e instanceof DecodeError || e instanceof JSONSyntaxError) return e.message.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '{time}')
    throw e
  }
}
