import type { LabelSelector, TableColumnDefinition } from '../apimachinery/meta/v1/types.generated.ts'

/** A column; type is string, shown always, unless said. */
export function column(name: string, rest: { type?: string; format?: string; priority?: number; description?: string } = {}): TableColumnDefinition {
  return { name, type: rest.type ?? 'string', format: rest.format ?? '', description: rest.description ?? '', priority: rest.priority ?? 0 }
}

/**
 * Columns in short: `Name/name` has a format, `Data:integer` a type, `Labels*` is for wide tables only; `|` between them.
 */
export function columnList(text: string): TableColumnDefinition[] {
  return text.split('|').map((item) => {
    const wide = item.endsWith('*')
    const [head = '', type] = (wide ? item.slice(0, -1) : item).split(':')
    const [name = '', format] = head.split('/')
    return column(name, { ...(type ? { type } : {}), ...(format ? { format } : {}), ...(wide ? { priority: 1 } : {}) })
  })
}

/** The first few, joined by commas, and how many more there are. */
export function firstFew(list: readonly string[], max: number, more: number = list.length - max): string {
  const text = list.slice(0, max).join(',')
  return list.length > max ? `${text} + ${more} more...` : text
}

/** `a=b,c=d` by key; nothing is `<none>`. */
export function labelsText(labels: Readonly<Record<string, string>> | undefined): string {
  const keys = Object.keys(labels ?? {}).sort()
  return keys.length === 0 ? '<none>' : keys.map((k) => `${k}=${labels?.[k]}`).join(',')
}

/**
 * A label selector in one line, by key: `a=b,c in (x,y),!d`. Undefined when it is none at all (bad operator, missing
 * values).
 */
export function selectorText(selector: LabelSelector | undefined): string | undefined {
  if (!selector) return ''
  const parts: [key: string, text: string][] = Object.entries(selector.matchLabels ?? {}).map(([k, v]) => [k, `${k}=${v}`])
  for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
    const sorted = [...values].sort()
    switch (operator as string) {
      case 'In':
        if (sorted.length === 0) return undefined
        parts.push([key, `${key} in (${sorted.join(',')})`])
        break
      case 'NotIn':
        if (sorted.length === 0) return undefined
        parts.push([key, `${key} notin (${sorted.join(',')})`])
        break
      case 'Exists':
        parts.push([key, key])
        break
      case 'DoesNotExist':
        parts.push([key, `!${key}`])
        break
      default:
        return undefined
    }
  }
  return parts
    .sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0))
    .map(([, text]) => text)
    .join(',')
}

/** As tables print selectors: `<none>` when there is nothing, `<error>` when it is no selector. */
export function formatSelector(selector: LabelSelector | undefined): string {
  const text = selectorText(selector)
  return text === undefined ? '<error>' : text === '' ? '<none>' : text
}

/** Names and images of the containers of a template. */
export function containerTexts(spec: { containers?: readonly { name: string; image?: string }[] } | undefined): [names: string, images: string] {
  const containers = spec?.containers ?? []
  return [containers.map((c) => c.name).join(','), containers.map((c) => c.image ?? '').join(',')]
}
