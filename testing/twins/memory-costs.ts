import type { CostStore, StoredUpload } from '@tributary/tables/costs/store-costs'

/** Uploads of costs in memory, in the order in which they came. `fault`: when set, nothing is stored. */
export function memoryCosts(): CostStore & { uploads: StoredUpload[]; fault: Error | null } {
  const store = {
    uploads: [] as StoredUpload[],
    fault: null as Error | null,
    async store(upload: StoredUpload) {
      if (store.fault) throw store.fault
      store.uploads.push(upload)
    },
  }
  return store
}
