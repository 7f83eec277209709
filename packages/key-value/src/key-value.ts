export interface CappedAdd {
  /** False: nothing was added, the sum would have passed the cap. */
  added: boolean
  /** The sum after the call. */
  total: number
}

export interface WindowHit {
  allowed: boolean
  /** Hits of the window that can still be made now. */
  remaining: number
  /** Until one more hit is allowed; 0 when one is allowed now. */
  retry_after_ms: number
}

/** Counters shared by all gateways: Redis, or its embedded twin on lmdb. Every method is one atomic step. */
export interface KeyValue {
  /** Adds `n` (may be negative, never below 0) unless the sum would pass `cap` (null: no cap). The key expires after `ttl_ms`. */
  addCapped(key: string, n: number, cap: number | null, ttl_ms: number): Promise<CappedAdd>
  /** Makes a counter that is below `total`, or gone, `total`; gives back what it is then. */
  raiseTo(key: string, total: number, ttl_ms: number): Promise<number>
  /** At most `limit` hits in any `window_ms`, exactly; a refused hit uses nothing up. */
  hitWindow(key: string, limit: number, window_ms: number): Promise<WindowHit>
  get(key: string): Promise<number | null>
  checkHealth(): Promise<void>
  close(): Promise<void>
}
