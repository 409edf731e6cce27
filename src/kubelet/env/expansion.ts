/** `$(NAME)` in text: known names are replaced, unknown ones stay, `$$` is a literal `$`. What is put in is not expanded again. */
export function expand(text: string, lookUp: (name: string) => string | undefined): string {
  let out = ''
  for (let i = 0; i < text.length; i++) {
    const c = text[i]
    if (c !== '$' || i + 1 >= text.length) {
      out += c
      continue
    }
    const next = text[i + 1]
    if (next === '$') {
      out += '$'
      i++
    } else if (next === '(') {
      const end = text.indexOf(')', i + 2)
      if (end < 0) {
        out += '$('
        i++
        continue
      }
      const name = text.slice(i + 2, end)
      out += lookUp(name) ?? `$(${name})`
      i = end
    } else {
      // Not the start of anything: both characters stay.
      out += `$${next}`
      i++
    }
  }
  return out
}
