import { milliValue, wholeValue } from '../../component-helpers/amounts.ts'

/** Amounts by resource: cpu in thousandths of a core, everything else in its own unit (bytes, count). */
export class Resources {
  milliCpu = 0
  memory = 0
  ephemeralStorage = 0
  pods = 0
  /** Extended, hugepages- and attachable resources. */
  readonly scalar = new Map<string, number>()

  add(other: Resources, sign = 1): void {
    this.milliCpu += sign * other.milliCpu
    this.memory += sign * other.memory
    this.ephemeralStorage += sign * other.ephemeralStorage
    this.pods += sign * other.pods
    for (const [name, amount] of other.scalar) this.scalar.set(name, (this.scalar.get(name) ?? 0) + sign * amount)
  }

  get(name: string): number {
    switch (name) {
      case 'cpu':
        return this.milliCpu
      case 'memory':
        return this.memory
      case 'ephemeral-storage':
        return this.ephemeralStorage
      case 'pods':
        return this.pods
      default:
        return this.scalar.get(name) ?? 0
    }
  }

  set(name: string, amount: number): void {
    switch (name) {
      case 'cpu':
        this.milliCpu = amount
        break
      case 'memory':
        this.memory = amount
        break
      case 'ephemeral-storage':
        this.ephemeralStorage = amount
        break
      case 'pods':
        this.pods = amount
        break
      default:
        this.scalar.set(name, amount)
    }
  }

  /** Every resource that is not zero. */
  *entries(): IterableIterator<[string, number]> {
    if (this.milliCpu) yield ['cpu', this.milliCpu]
    if (this.memory) yield ['memory', this.memory]
    if (this.ephemeralStorage) yield ['ephemeral-storage', this.ephemeralStorage]
    if (this.pods) yield ['pods', this.pods]
    yield* this.scalar
  }

  maxOf(other: Resources): void {
    this.milliCpu = Math.max(this.milliCpu, other.milliCpu)
    this.memory = Math.max(this.memory, other.memory)
    this.ephemeralStorage = Math.max(this.ephemeralStorage, other.ephemeralStorage)
    for (const [name, amount] of other.scalar) this.scalar.set(name, Math.max(this.scalar.get(name) ?? 0, amount))
  }

  /** From a ResourceList of the API. */
  static of(list: Record<string, string> | undefined): Resources {
    const out = new Resources()
    if (list) for (const name of Object.keys(list)) out.set(name, amountOf(name, list[name] as string))
    return out
  }
}

/** Amounts are rounded up: cpu to a thousandth, everything else to a whole. */
export function amountOf(name: string, quantity: string): number {
  return name === 'cpu' ? milliValue(quantity) : wholeValue(quantity)
}
