/** `0,2-4` into the number of indexes it names; throws with the message clients see. */
export function countIndexes(text: string, completions: number): number {
  if (text === '') return 0
  let last: number | undefined
  let total = 0
  for (const part of text.split(',')) {
    const limits = part.split('-')
    if (limits.length > 2)
      throw new Error(`the fragment ${JSON.stringify(part)} violates the requirement that an index interval can have at most two parts separated by '-'`)
    const first = readIndex(limits[0] as string)
    if (last !== undefined && last >= first) throw new Error(`non-increasing order, previous: ${last}, current: ${first}`)
    if (first >= completions) throw new Error(`too large index: ${JSON.stringify(limits[0])}`)
    let end = first
    if (limits.length === 2) {
      end = readIndex(limits[1] as string)
      if (end >= completions) throw new Error(`too large index: ${JSON.stringify(limits[1])}`)
      if (first >= end) throw new Error(`non-increasing order, previous: ${first}, current: ${end}`)
    }
    total += end - first + 1
    last = end
  }
  return total
}

function readIndex(text: string): number {
  if (!/^[+-]?[0-9]{1,18}$/.test(text)) throw new Error(`cannot convert string to integer for index: ${JSON.stringify(text)}`)
  return Number(text)
}
