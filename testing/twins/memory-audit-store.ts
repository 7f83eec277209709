import type { RewritableAuditStore } from '@tributary/audit-store/audit-store'

export interface MemoryAuditStore extends RewritableAuditStore {
  objects: Map<string, Buffer>
  /** What is left of erased objects, by their keys. */
  erased: Map<string, Buffer>
  /** When set, every write rejects with it. */
  fault: Error | null
}

/** An audit store in memory, for tests that read its objects or make it fail. It is never ready. */
export function memoryAuditStore(): MemoryAuditStore {
  const store: MemoryAuditStore = {
    objects: new Map(),
    erased: new Map(),
    fault: null,
    async putOnce(key, content) {
      if (store.fault) throw store.fault
      if (store.objects.has(key)) return 'exists'
      store.objects.set(key, content)
      return 'created'
    },
    get: async (key) => store.objects.get(key) ?? store.erased.get(key) ?? null,
    async replace(key, previous, content) {
      if (store.fault) throw store.fault
      if (!store.objects.get(key)?.equals(previous)) return 'changed'
      store.objects.set(key, content)
      return 'done'
    },
    async erase(key, previous, rest) {
      if (store.fault) throw store.fault
      if (!store.objects.get(key)?.equals(previous)) return 'changed'
      store.erased.set(key, rest)
      store.objects.delete(key)
      return 'done'
    },
    async *list(folder) {
      const below = [...store.objects.keys()].filter((key) => key.startsWith(folder))
      const names = new Set(below.map((key) => /^[^/]*\/?/.exec(key.slice(folder.length))![0]))
      for (const name of names) {
        const key = folder + name
        if (name.endsWith('/')) yield { kind: 'folder', folder: key }
        else {
          const read = async () => (store.objects.has(key) ? store.get(key) : null)
          yield { kind: 'object', key, read, remove: async () => void store.objects.delete(key) }
        }
      }
    },
    checkHealth: async () => {
      throw new Error('an audit store in memory is never ready: it is for tests')
    },
    close: async () => {},
  }
  return store
}
