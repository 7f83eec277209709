export interface CappedAdd {
  /** False: nothing was added, the sum would have passed the cap. */
  added: boolean
  /** The sum after the call. */
  total: number
  /** The mark that the counter has, null without one. What is added now is not in it. */
  mark_id: string | null
}

export interface WindowHit {
  allowed: boolean
  /** Hits of the window that can still be made now. */
  remaining: number
  /** Time until one more hit is allowed; 0 when one is allowed now. */
  retry_after_ms: number
}

/** Counters shared by all gateways: Redis, or its embedded twin on lmdb. Every method is one atomic step. */
export interface KeyValue {
  /** True where a step is taken in this process, without a round trip: then nothing is gained by reserving ahead. */
  is_local: boolean
  /**
   * Adds `n` (may be negative, never below 0) unless the sum would pass `cap` (null: no cap). The key expires `ttl_ms`
   * after the first add, and never later than that from now: a clock that was ahead does not prolong it. A negative `n` with the `mark_id` that the counter had when it was added leaves that mark as it is.
   */
  addCapped(key: string, n: number, cap: number | null, ttl_ms: number, mark_id?: string | null): Promise<CappedAdd>
  /**
   * Marks what a counter holds now, in place of any mark before; returns its total, null without a
   * counter. What is given back afterwards lowers the mark too; what is added does not raise it.
   */
  mark(key: string, mark_id: string): Promise<number | null>
  /**
   * Raises a counter that is below `counted`, or gone, to it. With the `mark_id` of its mark, takes off what the mark has
   * above `counted`, and removes the mark; another one takes nothing off. Returns the total.
   */
  reconcile(key: string, counted: number, mark_id: string | null, ttl_ms: number): Promise<number>
  /**
   * Allows at most `limit` hits in any `window_ms`, exactly; a refused hit uses nothing up. Hits from a clock that was
   * ahead are forgotten once it is corrected.
   */
  hitWindow(key: string, limit: number, window_ms: number): Promise<WindowHit>
  /** Pass the `ttl_ms` of the counter, so that a clock that was ahead does not prolong its life. */
  get(key: string, ttl_ms?: number): Promise<number | null>
  /** Removes a counter, with its name: it may tell of a person. */
  remove(key: string): Promise<void>
  checkHealth(): Promise<void>
  close(): Promise<void>
}
