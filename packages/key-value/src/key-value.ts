export interface CappedAdd {
  /** False: nothing was added, because the sum would have passed the cap. */
  added: boolean
  /** The sum after the call. */
  total: number
  /** The mark that the counter has; null without one. It does not contain what this call added. */
  mark_id: string | null
}

export interface WindowHit {
  allowed: boolean
  /** Hits of the window that can still be made now. */
  remaining: number
  /** Time until one more hit is allowed; 0 when one is allowed now. */
  retry_after_ms: number
}

export interface RingTexts {
  /** Oldest first. */
  texts: string[]
  /** The position of the last text that was ever appended; 0 for a ring that is not there. */
  position: number
}

/** Counters shared by all gateways: Redis, or its embedded twin on lmdb. Every method is one atomic step. */
export interface KeyValue {
  /** True if steps are done in this process, without a round trip: reserving ahead then saves nothing. */
  is_local: boolean
  /**
   * Adds `n` (it may be negative; the sum stays at least 0) unless the sum would pass `cap` (null: no cap). The key expires `ttl_ms`
   * after the first add, and at most `ttl_ms` from now: a clock that was ahead does not prolong it. A negative `n` gives back what was
   * added before; if the counter still has the mark that it had then (`mark_id`), that mark stays as it is.
   */
  addCapped(key: string, n: number, cap: number | null, ttl_ms: number, mark_id?: string | null): Promise<CappedAdd>
  /**
   * Notes the present total of a counter as its mark, in place of an earlier mark. Returns the total; null without a counter. What is
   * given back afterwards lowers the mark too; what is added does not raise it.
   */
  mark(key: string, mark_id: string): Promise<number | null>
  /**
   * Raises a counter that is below `counted`, or gone, to `counted`. With the `mark_id` of its mark, it subtracts from the counter what
   * the mark has above `counted`, and removes the mark; with another one it subtracts nothing. Returns the total.
   */
  reconcile(key: string, counted: number, mark_id: string | null, ttl_ms: number): Promise<number>
  /**
   * Allows at most `limit` hits in any `window_ms`, exactly; a refused hit uses nothing up. Hits from a clock that was
   * ahead are forgotten once it is corrected.
   */
  hitWindow(key: string, limit: number, window_ms: number): Promise<WindowHit>
  /** The total; null without a counter. Pass the `ttl_ms` of the counter, so that a clock that was ahead does not prolong its life. */
  get(key: string, ttl_ms?: number): Promise<number | null>
  /** Removes a counter with its name, which may name a person. */
  remove(key: string): Promise<void>
  /** Appends to a ring of at most `max` texts. Each text ends by itself `ttl_ms` after it came. The embedded store keeps it in memory alone. */
  append(key: string, text: string, max: number, ttl_ms: number): Promise<void>
  /**
   * The newest texts of a ring that came after a position, at most `limit`. Positions begin anew when all texts have ended: one
   * that lies ahead reads from the first.
   */
  read(key: string, after: number, limit: number): Promise<RingTexts>
  checkHealth(): Promise<void>
  close(): Promise<void>
}
