type Eventually<T> = T | Promise<T>

/**
 * Keeps an SDK client's data beyond the end of the process, as strings under keys of `[A-Za-z0-9_.-]`. A resolved `set`
 * is durable. `delete` of an unknown key does nothing. `localStorage`, AsyncStorage, IndexedDB or a folder fit in a few lines.
 */
export interface EventStorage {
  get(key: string): Eventually<string | null>
  set(key: string, value: string): Eventually<void>
  delete(key: string): Eventually<void>
  /** All keys, in any order. */
  keys(): Eventually<readonly string[]>
}

/** Storage that ends with the process, for tests and for servers that may lose unsent events. */
export function memoryStorage(): EventStorage {
  const values = new Map<string, string>()
  return {
    get: (key) => values.get(key) ?? null,
    set: (key, value) => void values.set(key, value),
    delete: (key) => void values.delete(key),
    keys: () => [...values.keys()],
  }
}
