/** How many writes are under way at a time: they share commits of the store, and leave room for others' requests. */
const LIMIT = 16

/** Does `work` for each item, several at once. Rejects with the first failure, after which no more are begun. */
export async function atOnce<T>(items: Iterable<T>, work: (item: T) => Promise<unknown>): Promise<void> {
  const left = items[Symbol.iterator]()
  const worker = async () => {
    for (let next = left.next(); !next.done; next = left.next()) await work(next.value)
  }
  await Promise.all(Array.from({ length: LIMIT }, worker))
}
