import type { Batch } from '@tributary/service-kit/consumer/define-consumer'
import type { InstallOfApp } from '@tributary/tables/attribution/redecisions'

/**
 * Installs of a batch on which earlier tries have nothing under way: whatever they published is durable. A decision on them that
 * changes nothing need not be published again.
 */
export interface Landed {
  has(install: InstallOfApp): boolean
  add(install: InstallOfApp): void
  delete(install: InstallOfApp): void
}

type Try = Pick<Batch<unknown>, 'topic' | 'partition' | 'token' | 'attempt'>

/**
 * Remembers for each partition what the last try in this process knows. It holds for the next try of the same batch alone: after
 * one of another process, and beside one that is still at work here, nothing is known.
 */
export function createLanded() {
  const kept = new Map<string, { batch: string; attempt: number; names: Set<string> }>()
  const nameOf = ({ app_id, install_uuid }: InstallOfApp) => `${app_id}/${install_uuid}`

  return async function withLanded<T>(
    { topic, partition, token: batch, attempt }: Try,
    work: (landed: Landed) => Promise<T>,
  ): Promise<T> {
    const partition_name = `${topic}/${partition}`
    const last = kept.get(partition_name)
    kept.delete(partition_name)
    const names = last?.batch === batch && last.attempt === attempt - 1 ? last.names : new Set<string>()
    try {
      return await work({
        has: (install) => names.has(nameOf(install)),
        add: (install) => void names.add(nameOf(install)),
        delete: (install) => void names.delete(nameOf(install)),
      })
    } finally {
      kept.set(partition_name, { batch, attempt, names })
    }
  }
}
