import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { goldenFolder } from '../../testing/golden.ts'
import { FieldPath } from '../field.ts'
import {
  formatIP,
  isCIDR,
  isConfigMapKey,
  isDNS1123Label,
  isDNS1123Subdomain,
  isIP,
  isLabelValue,
  isLegacyIP,
  isPortName,
  isQualifiedName,
  parseCIDR,
  parseIP,
  validateObjectMeta,
} from './index.ts'

const golden = goldenFolder('recorded')

interface Cause {
  field: string
  message: string
}

function recordedCauses(): Cause[] {
  const out: Cause[] = []
  for (const file of readdirSync(golden)) {
    for (const scenario of JSON.parse(readFileSync(`${golden}/${file}`, 'utf8')) as { steps: { want?: { body?: { details?: { causes?: Cause[] } } } }[] }[]) {
      for (const step of scenario.steps) for (const c of step.want?.body?.details?.causes ?? []) if (c.field) out.push(c)
    }
  }
  return out
}

describe.skipIf(!golden)('rules against recorded refusals', () => {
  const rules: [RegExp, (v: string) => string[]][] = [
    [/^metadata\.(labels|annotations|finalizers)$/, (v) => [...isQualifiedName(v), ...isLabelValue(v)]],
    [/containers\[\d+\]\.ports\[\d+\]\.name$/, isPortName],
    [/^data\[.*\]$/, isConfigMapKey],
    [/containers\[\d+\]\.name$/, isDNS1123Label],
    [/hostAliases\[\d+\]\.ip$/, (v) => isLegacyIP(v)],
  ]
  it('say the same words', () => {
    let checked = 0
    for (const { field, message } of recordedCauses()) {
      const rule = rules.find(([re]) => re.test(field))
      const m = /^Invalid value: ("(?:[^"\\]|\\.)*"): ([\s\S]*)$/.exec(message)
      if (!rule || !m || /standard finalizer|duplicate of key|redacted|\{/.test(message)) continue
      expect(rule[1](JSON.parse(m[1] as string)), `${field}: ${message}`).toContain(m[2])
      checked++
    }
    expect(checked).toBeGreaterThan(60)
  })
})

describe('names', () => {
  it('match the expression they print', () => {
    const words = fc.string({ unit: fc.constantFrom('a', 'Z', '0', '-', '_', '.', '/'), maxLength: 8 })
    fc.assert(
      fc.property(words, (s) => {
        const printed = (text: string) => new RegExp(`^(?:${/used for validation is '(.*)'\)$/.exec(text)?.[1]})$`)
        expect(isDNS1123Subdomain(s).length === 0).toBe(printed(isDNS1123Subdomain('!')[0] as string).test(s))
        expect(isLabelValue(s).length === 0).toBe(printed(isLabelValue('!')[0] as string).test(s))
      }),
    )
  })

  it('count bytes, not characters', () => {
    expect(isLabelValue('é'.repeat(32))[0]).toBe('must be no more than 63 bytes')
  })
})

describe('addresses', () => {
  it('have one canonical text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const ip = parseIP(text)
        expect(ip).toBeDefined()
        if (!ip) return
        const canonical = formatIP(ip)
        const again = parseIP(canonical)
        expect(again?.bytes).toEqual(ip.bytes)
        expect(isIP(canonical)).toEqual([])
      }),
    )
  })

  it.each([
    ['1.2.3.4', []],
    ['01.2.3.4', ['must not have leading 0s']],
    ['::ffff:1.2.3.4', ['must not be an IPv4-mapped IPv6 address']],
    ['2001:DB8::1', ['must be in canonical form ("2001:db8::1")']],
    ['1:2:3:4:5:6:7::', ['must be in canonical form ("1:2:3:4:5:6:7:0")']],
    ['1.2.3', ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)']],
    [':::', ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)']],
  ])('%s', (text, want) => {
    expect(isIP(text)).toEqual(want)
  })

  it.each([
    ['10.0.0.0/8', []],
    ['10.0.0.1/8', ['must not have bits set beyond the prefix length']],
    ['10.0.0.0/08', ['must not have leading 0s in IP or prefix length']],
    ['2001:DB8::/32', ['must be in canonical form ("2001:db8::/32")']],
    ['10.0.0.0/33', ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)']],
  ])('%s', (text, want) => {
    expect(isCIDR(text)).toEqual(want)
  })

  it('know the network of a CIDR', () => {
    expect(parseCIDR('192.168.77.3/20')?.prefix).toBe(20)
  })
})

describe('object metadata', () => {
  it('refuses in upstream order', () => {
    const errs = validateObjectMeta(
      {
        generateName: 'BAD_',
        namespace: 'n',
        labels: { 'a b': '-' },
        finalizers: ['plain'],
        ownerReferences: [{ apiVersion: 'v1', kind: 'Event', name: 'e', uid: 'u' }],
      },
      { namespaced: true },
      FieldPath.root('metadata'),
    )
    expect(errs.map((e) => e.field)).toEqual([
      'metadata.generateName',
      'metadata.name',
      'metadata.labels',
      'metadata.labels',
      'metadata.ownerReferences',
      'metadata.finalizers[0]',
    ])
    expect(errs[4]?.body).toBe('Invalid value: {"apiVersion":"v1","kind":"Event","name":"e","uid":"u"}: /v1, Kind=Event is disallowed from being an owner')
  })
})
