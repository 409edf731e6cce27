import { reverseZone } from '../kubernetes/reverse-name.ts'
import { canonical, labelsOf, wireLength } from '../wire/name.ts'
import { addressBytes } from '../wire/records.ts'
import type { Directive } from './blocks.ts'
import { CorefileError } from './tokens.ts'

const UNITS: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** Reads one directive's words; errors name its place. */
export class DirectiveReader {
  readonly directive: Directive
  readonly file: string
  /** Canonical zones of the server it stands in. */
  readonly serverZones: readonly string[]

  constructor(directive: Directive, file: string, serverZones: readonly string[]) {
    this.directive = directive
    this.file = file
    this.serverZones = serverZones
  }

  fail(message: string): never {
    throw new CorefileError(`${this.file}:${this.directive.line} - Error during parsing: ${message}`)
  }

  wrongArguments(): never {
    return this.fail(`Wrong argument count or unexpected line ending after '${this.directive.args.at(-1) ?? this.directive.name}'`)
  }

  arguments(least: number, most: number): readonly string[] {
    const { args } = this.directive
    if (args.length < least || args.length > most) this.wrongArguments()
    return args
  }

  /** A word that stands for itself. */
  none(): true {
    this.arguments(0, 0)
    return true
  }

  noBody(): void {
    if (this.directive.body && this.directive.body.length > 0) this.properties({})
  }

  /** Calls the reader of each property of the braces. */
  properties(known: Readonly<Record<string, (p: DirectiveReader) => void>>, other?: (d: Directive) => void): void {
    for (const d of this.directive.body ?? []) {
      const p = new DirectiveReader(d, this.file, this.serverZones)
      const read = Object.hasOwn(known, d.name) ? known[d.name] : undefined
      if (read) read(p)
      else if (other) other(d)
      else p.fail(`unknown property '${d.name}' of ${this.directive.name}`)
    }
  }

  /** A whole number that is not negative. */
  count(text: string): number {
    if (!/^\d{1,10}$/.test(text)) this.fail(`${JSON.stringify(text)} is not a number`)
    return Number(text)
  }

  /** Milliseconds of `1m30s`; a bare number is seconds. */
  duration(text: string): number {
    if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
    if (!/^(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$/.test(text)) this.fail(`time: invalid duration ${JSON.stringify(text)}`)
    let ms = 0
    for (const [, n, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)) ms += Number(n) * (UNITS[unit as string] as number)
    return ms
  }

  /** `host:port`, host may be empty. */
  address(text: string): string {
    const port = /^(?:\[[0-9a-f:.]+\]|[^:[\]]*):(\d{1,5})$/i.exec(text)?.[1]
    if (port === undefined || Number(port) > 65_535) this.fail(`${JSON.stringify(text)} is no address with a port`)
    return text
  }

  zonesOf(names: readonly string[]): readonly string[] {
    return DirectiveReader.zones(names, this.file, this.directive.line)
  }

  /** Zones named, or all. */
  zonesOrAll(): readonly string[] {
    const { args } = this.directive
    return args.length > 0 ? this.zonesOf(args) : ['.']
  }

  /** Canonical zones of names and address ranges. */
  static zones(names: readonly string[], file: string, line: number): readonly string[] {
    return names.map((name) => {
      const fail = (): never => {
        throw new CorefileError(`${file}:${line} - Error during parsing: unable to normalize ${JSON.stringify(name)}`)
      }
      if (name.includes('/')) return reverseZone(name, addressBytes) ?? fail()
      const zone = canonical(name)
      try {
        wireLength(labelsOf(zone))
      } catch {
        fail()
      }
      return zone
    })
  }
}
