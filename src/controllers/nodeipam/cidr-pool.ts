/** Equal parts of an IPv4 network, given out first free in order. */
export class CidrPool {
  private readonly base: number
  private readonly partBits: number
  private readonly size: number
  private readonly used = new Set<number>()
  private next = 0

  /** Throws RangeError when the text is no IPv4 network or the parts do not fit. */
  constructor(cidr: string, partMask: number) {
    const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(\d{1,2})$/.exec(cidr)
    const mask = match ? Number(match[5]) : -1
    if (!match || mask > 32 || partMask < mask || partMask > 32 || partMask - mask > 16)
      throw new RangeError(`invalid cluster CIDR ${cidr} with node mask ${partMask}`)
    const address = match.slice(1, 5).reduce((n, part) => n * 256 + Number(part), 0)
    this.partBits = 32 - partMask
    this.size = 2 ** (partMask - mask)
    this.base = address - (address % 2 ** (32 - mask))
  }

  /** The next free part; undefined when all are taken. */
  allocate(): string | undefined {
    for (let i = 0; i < this.size; i++) {
      const part = (this.next + i) % this.size
      if (this.used.has(part)) continue
      this.used.add(part)
      this.next = part + 1
      return this.text(part)
    }
    return undefined
  }

  occupy(cidr: string): void {
    const part = this.partOf(cidr)
    if (part !== undefined) this.used.add(part)
  }

  release(cidr: string): void {
    const part = this.partOf(cidr)
    if (part !== undefined) this.used.delete(part)
  }

  private text(part: number): string {
    const n = this.base + part * 2 ** this.partBits
    return `${[24, 16, 8, 0].map((shift) => Math.floor(n / 2 ** shift) % 256).join('.')}/${32 - this.partBits}`
  }

  private partOf(cidr: string): number | undefined {
    const parts = cidr.split('/')[0]?.split('.').map(Number) ?? []
    if (parts.length !== 4) return undefined
    const part = Math.floor((parts.reduce((n, p) => n * 256 + p, 0) - this.base) / 2 ** this.partBits)
    return part >= 0 && part < this.size ? part : undefined
  }
}
