import type { corev1 } from '../../api/index.ts'
import { parseAmount } from '../../component-helpers/amounts.ts'

/** What something asks for, by resource name. */
export interface Usage {
  readonly requests: Readonly<Record<string, string>> | undefined
  readonly limits: Readonly<Record<string, string>> | undefined
}

type Quantities = Readonly<Record<string, string>> | undefined

const amount = (text: string) => parseAmount(text).nano
const shown = (text: string) => parseAmount(text).toString()
const own = (list: Quantities, name: string) => (list && Object.hasOwn(list, name) ? list[name] : undefined)

function* each(
  bounds: Quantities,
  { requests, limits }: Usage,
): Generator<{ name: string; bound: string; request: string | undefined; limit: string | undefined }> {
  for (const name of Object.keys(bounds ?? {}).sort()) {
    yield { name, bound: bounds?.[name] as string, request: own(requests, name), limit: own(limits, name) }
  }
}

/** All complaints about one item of a LimitRange: least, most, ratio. */
export function limitViolations(item: corev1.LimitRangeItem, type: string, usage: Usage): string[] {
  return [...minViolations(item.min, type, usage), ...maxViolations(item.max, type, usage), ...ratioViolations(item.maxLimitRequestRatio, type, usage)]
}

export function minViolations(bounds: Quantities, type: string, usage: Usage): string[] {
  const texts: string[] = []
  for (const { name, bound, request, limit } of each(bounds, usage)) {
    const head = `minimum ${name} usage per ${type} is ${shown(bound)}`
    if (request === undefined) texts.push(`${head}.  No request is specified`)
    else if (amount(request) < amount(bound)) texts.push(`${head}, but request is ${shown(request)}`)
    else if (limit !== undefined && amount(limit) < amount(bound)) texts.push(`${head}, but limit is ${shown(limit)}`)
  }
  return texts
}

function maxViolations(bounds: Quantities, type: string, usage: Usage): string[] {
  const texts: string[] = []
  for (const { name, bound, request, limit } of each(bounds, usage)) {
    const head = `maximum ${name} usage per ${type} is ${shown(bound)}`
    if (limit === undefined) texts.push(`${head}.  No limit is specified`)
    else if (amount(limit) > amount(bound)) texts.push(`${head}, but limit is ${shown(limit)}`)
    else if (request !== undefined && amount(request) > amount(bound)) texts.push(`${head}, but request is ${shown(request)}`)
  }
  return texts
}

export function maxRequestViolations(bounds: Quantities, type: string, usage: Usage): string[] {
  const texts: string[] = []
  for (const { name, bound, request } of each(bounds, usage)) {
    const head = `maximum ${name} usage per ${type} is ${shown(bound)}`
    if (request === undefined) texts.push(`${head}.  No request is specified`)
    else if (amount(request) > amount(bound)) texts.push(`${head}, but request is ${shown(request)}`)
  }
  return texts
}

function ratioViolations(bounds: Quantities, type: string, usage: Usage): string[] {
  const texts: string[] = []
  for (const { name, bound, request, limit } of each(bounds, usage)) {
    const head = `${name} max limit to request ratio per ${type} is ${shown(bound)}`
    if (request === undefined || amount(request) === 0n) texts.push(`${head}, but no request is specified or request is 0`)
    else if (limit === undefined || amount(limit) === 0n) texts.push(`${head}, but no limit is specified or limit is 0`)
    else if (amount(limit) * 1_000_000_000n > amount(bound) * amount(request)) {
      texts.push(`${head}, but provided ratio is ${(Number(amount(limit)) / Number(amount(request))).toFixed(6)}`)
    }
  }
  return texts
}
