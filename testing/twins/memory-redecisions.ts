import { appPartition } from '@tributary/broker/partition'
import type { RedecisionList, TakenRedecision } from '@tributary/tables/attribution/redecisions'

interface Entry extends TakenRedecision {
  partition: number
  added: number
  slice: string | null
}

export interface MemoryRedecisions extends RedecisionList {
  /** `<app_id>/<install_uuid>` of each entry, sorted. */
  names(): string[]
}

interface Options {
  partitions?: number
  now?: () => number
  /** Whether the entry that came last is taken first, as may be when apps take turns. */
  newestFirst?: () => boolean
}

/** The twin of `postgresRedecisions`: the same promises in memory. */
export function memoryRedecisions({
  partitions = 1,
  now = () => 0,
  newestFirst = () => false,
}: Options = {}): MemoryRedecisions {
  const entries = new Map<string, Entry & { added_ms: number }>()
  const lastApps = new Map<number, string>()
  let numbers = 0
  const inPartition = (partition: number) => [...entries.values()].filter((one) => one.partition === partition)

  function free(partition: number, max: number): Entry[] {
    if (max <= 0) return []
    const order = newestFirst() ? -1 : 1
    const all = inPartition(partition)
      .filter(({ slice }) => slice === null)
      .toSorted((a, b) => order * (a.added - b.added))
    const last = lastApps.get(partition) ?? ''
    const byApp = [...Map.groupBy(all, ({ app_id }) => app_id)].toSorted(([a], [b]) => (a < b ? -1 : 1))
    const apps = [...byApp.filter(([app]) => app > last), ...byApp.filter(([app]) => app <= last)].slice(0, max)
    const found = apps.flatMap(([, of]) => of.slice(0, Math.ceil(max / apps.length))).slice(0, max)
    if (found.length > 0) lastApps.set(partition, found.at(-1)!.app_id)
    return found
  }

  return {
    names: () => [...entries.keys()].toSorted(),
    async add(installs) {
      for (const { app_id, install_uuid } of installs) {
        numbers += 1
        const name = `${app_id}/${install_uuid}`
        const partition = appPartition(app_id, partitions)
        const known = entries.get(name) ?? { added: numbers, added_ms: now(), slice: null }
        entries.set(name, { ...known, app_id, install_uuid, partition, reason_number: String(numbers) })
      }
    },
    async take({ partition, name }, max) {
      const begun = inPartition(partition).filter(({ slice }) => slice !== null)
      const taken = [...begun, ...free(partition, max - begun.length)]
      return taken.map((entry) => {
        entry.slice = name
        const { app_id, install_uuid, reason_number } = entry
        return { app_id, install_uuid, reason_number }
      })
    },
    async finish({ partition, name }, decided) {
      for (const { app_id, install_uuid, reason_number } of decided) {
        const entry = entries.get(`${app_id}/${install_uuid}`)
        if (entry?.slice === name && entry.reason_number === reason_number) entries.delete(`${app_id}/${install_uuid}`)
      }
      for (const entry of inPartition(partition)) {
        if (entry.slice !== name) continue
        entry.slice = null
        if (!decided.some((one) => one.app_id === entry.app_id && one.install_uuid === entry.install_uuid)) continue
        numbers += 1
        Object.assign(entry, { added: numbers, added_ms: now() })
      }
      return inPartition(partition).length > 0
    },
    partitions: async () => [...new Set([...entries.values()].map(({ partition }) => partition))].toSorted(),
    async apps(partition, after, max) {
      const apps = new Set(inPartition(partition).map(({ app_id }) => app_id))
      return [...apps]
        .filter((app_id) => app_id > after)
        .toSorted()
        .slice(0, max)
    },
    async backlog() {
      const oldest = Math.min(...[...entries.values()].map(({ added_ms }) => added_ms))
      return { count: entries.size, oldest_ms: entries.size === 0 ? null : Math.max(0, now() - oldest) }
    },
  }
}
