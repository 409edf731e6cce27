const TOTAL_RUNES = 4096
const CUT_RUNES = 256

/** The `Warning` headers of one answer: without repetitions, 4096 runes in all. */
export class WarningRecorder {
  private readonly texts = new Set<string>()

  add(text: string): void {
    if (text !== '' && isPrintable(text)) this.texts.add(text)
  }

  headers(): string[] {
    let budget = TOTAL_RUNES
    const full: string[] = []
    let over = false
    for (const text of this.texts) {
      budget -= [...text].length
      if (budget < 0) {
        over = true
        break
      }
      full.push(text)
    }
    if (!over) return full.map(format)
    budget = TOTAL_RUNES
    const cut: string[] = []
    for (const text of this.texts) {
      const runes = [...text].slice(0, CUT_RUNES)
      if (budget < runes.length) break
      budget -= runes.length
      cut.push(runes.join(''))
    }
    return cut.map(format)
  }
}

function isPrintable(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c < 32 || c === 127 || c === 0xfffd) return false
  }
  return true
}

function format(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')
  // Header values are bytes: what is beyond ASCII goes out as UTF-8.
  return `299 - "${Buffer.from(escaped, 'utf8').toString('latin1')}"`
}
