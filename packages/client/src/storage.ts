type Eventually<T> = T | Promise<T>

/**
 * Where an SDK client keeps what must outlive the process: strings under keys of `[A-Za-z0-9_.-]`. A resolved `set` is
 * durable; `delete` of an unknown key does nothing. `localStorage`, AsyncStorage, IndexedDB or a folder are one-liners.
 */
export interface EventStorage {
  get(key: string): Eventually<string | null>
  set(key: string, value: string): Eventually<void>
  delete(key: string): Eventually<void>
  /** All keys, in any order. */
  keys(): Eventually<readonly string[]>
}

/** Storage that ends with the process: for servers that may lose what was not sent yet, and for tests. */
export function memoryStorage(): EventStorage {
  const values = new Map<string, string>()
  return {
    get: (key) => values.get(key) ?? null,
    set: (key, value) => void values.set(key, value),
    delete: (key) => void values.delete(key),
    keys: () => [...values.keys()],
  }
}
