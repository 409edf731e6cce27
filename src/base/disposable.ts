/** Something that holds a resource until it is disposed of. Disposing twice does nothing. */
export interface Disposable {
  dispose(): void | Promise<void>
}

/** Collects disposables and releases them in reverse order; the first error is thrown after all were tried. */
export class DisposableStack implements Disposable {
  private items: Disposable[] = []

  add<T extends Disposable>(item: T): T {
    this.items.push(item)
    return item
  }

  defer(fn: () => void | Promise<void>): void {
    this.items.push({ dispose: fn })
  }

  async dispose(): Promise<void> {
    const items = this.items.reverse()
    this.items = []
    let failed = false
    let error: unknown
    for (const item of items) {
      try {
        await item.dispose()
      } catch (e) {
        if (!failed) error = e
        failed = true
      }
    }
    if (failed) throw error
  }
}
