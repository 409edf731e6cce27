const DNS_LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const SUBDOMAIN_TEXT = `${DNS_LABEL}(\\.${DNS_LABEL})*`
const NAME_TEXT = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

const NAME_MESSAGE = `must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${NAME_TEXT}')`
const PREFIX_MESSAGE = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${SUBDOMAIN_TEXT}')`
const VALUE_MESSAGE = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(${NAME_TEXT})?')`

/** What is wrong with a label key (`[prefix/]name`); empty when nothing is. */
export function labelKeyErrors(key: string): string[] {
  if (key.length <= 63 && NAME.test(key)) return []
  const errors: string[] = []
  const parts = key.split('/')
  if (parts.length > 2) return [`a valid label key ${NAME_MESSAGE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`]
  const name = parts.at(-1) as string
  if (parts.length === 2) {
    const prefix = parts[0] as string
    if (prefix === '') errors.push('prefix part must be non-empty')
    else {
      if (byteLength(prefix) > 253) errors.push('prefix part must be no more than 253 characters')
      if (prefix.length > 4096 || !SUBDOMAIN.test(prefix)) errors.push(`prefix part ${PREFIX_MESSAGE}`)
    }
  }
  if (name === '') errors.push('name part must be non-empty')
  else if (byteLength(name) > 63) errors.push('name part must be no more than 63 bytes')
  if (name.length > 4096 || !NAME.test(name)) errors.push(`name part ${NAME_MESSAGE}`)
  return errors
}

/** What is wrong with a label value; empty when nothing is. */
export function labelValueErrors(value: string): string[] {
  if (value === '') return []
  const errors: string[] = []
  if (value.length > 63 || byteLength(value) > 63) errors.push('must be no more than 63 bytes')
  if (value.length > 4096 || !NAME.test(value)) errors.push(VALUE_MESSAGE)
  return errors
}

/** UTF-8 bytes. */
function byteLength(s: string): number {
  let n = 0
  for (const ch of s) {
    const c = ch.codePointAt(0) as number
    n += c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4
  }
  return n
}
