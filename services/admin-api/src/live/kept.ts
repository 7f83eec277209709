import { refusalCodes, refusalsKey } from '@tributary/contracts/admin/live/feed'
import type { KeptRefusal } from '@tributary/contracts/admin/live/live'
import { limits } from '@tributary/contracts/limits'
import type { KeyValue } from '@tributary/key-value/key-value'

type Store = Pick<KeyValue, 'read'>

/** Makes the function that gives the last refusals of an app, the oldest first, as they were at most a second ago. */
export function createReadKept(keyValue: Store): (app_id: string) => Promise<readonly KeptRefusal[]> {
  const kept = new Map<string, Promise<KeptRefusal[]>>()
  return (app_id) => {
    // Many viewers may come at once: the rings are many, and read once for all of them.
    const found = kept.get(app_id) ?? readKeptRefusals(keyValue, app_id)
    if (!kept.has(app_id)) {
      kept.set(app_id, found)
      setTimeout(() => kept.delete(app_id), limits.live_watch_ms).unref()
    }
    return found
  }
}

async function readKeptRefusals(keyValue: Store, app_id: string): Promise<KeptRefusal[]> {
  const keys = refusalCodes.flatMap((code) => [refusalsKey(app_id, code, false), refusalsKey(app_id, code, true)])
  const rings = await Promise.all(keys.map((key) => keyValue.read(key, 0, limits.refusals_kept_max)))
  const kept = rings.flatMap(({ texts }) => texts).map((text) => JSON.parse(text) as KeptRefusal)
  return kept.toSorted((a, b) => a.at_ms - b.at_ms)
}
