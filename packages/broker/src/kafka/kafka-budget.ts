/** The inflated bytes that all queues of a consumption hold together. */
export interface Budget {
  isFull(): boolean
  /** Adds what a queue took over; negative once it is handled or dropped. */
  change(bytes: number): void
  /** Calls `review` whenever the budget becomes full or has room again. Gives the end of it. */
  watch(review: () => void): () => void
}

export function createBudget(bytes_total_max: number): Budget {
  const reviews = new Set<() => void>()
  let held_bytes = 0
  const isFull = () => held_bytes >= bytes_total_max
  return {
    isFull,
    change(bytes) {
      const was_full = isFull()
      held_bytes += bytes
      if (isFull() !== was_full) for (const review of reviews) review()
    },
    watch(review) {
      reviews.add(review)
      return () => void reviews.delete(review)
    },
  }
}
