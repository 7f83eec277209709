import type { Broker } from '@tributary/broker/broker'
import { lagOf } from '@tributary/broker/unread'
import { consumers } from '@tributary/contracts/consumers'
import { newestTombstones, type TombstoneStore, type Tombstones } from '@tributary/domain/erasure/tombstones'
import { tickRecord } from '@tributary/tables/attribution/records'
import type { RedecisionList } from '@tributary/tables/attribution/redecisions'

interface Deps {
  redecisions: Pick<RedecisionList, 'partitions' | 'apps'>
  broker: Pick<Broker, 'groupOffsets' | 'publish'>
  /** Tombstones; without them no app counts as locked. */
  erased?: TombstoneStore
}

/** Apps that are looked at together. */
const apps_max = 100

/**
 * Begins a batch for re-decisions in each partition that has some and nothing unread; from then on each batch begins the next.
 * Those of locked apps alone begin none: it would leave them as they are. Any number of processes may run it: a batch too many
 * finds nothing to do.
 */
export const redecisionsJob =
  ({ redecisions, broker, erased }: Deps) =>
  async (): Promise<void> => {
    const waiting = new Set(await redecisions.partitions())
    if (waiting.size === 0) return
    const { name, topic } = consumers.installAttributor
    const offsets = await broker.groupOffsets(name, topic.name, { dated: false })
    const idle = offsets.filter((of) => waiting.has(of.partition) && lagOf(of) === 0)
    if (idle.length === 0) return
    const tombstones = await newestTombstones(erased)
    const open: number[] = []
    for (const { partition } of idle) if (await hasOpenApp(redecisions, partition, tombstones)) open.push(partition)
    if (open.length > 0) await broker.publish(open.map(tickRecord))
  }

/** Whether a partition has entries of an app that is not locked. */
async function hasOpenApp(
  redecisions: Pick<RedecisionList, 'apps'>,
  partition: number,
  tombstones: Tombstones,
): Promise<boolean> {
  let apps: string[] = []
  do {
    apps = await redecisions.apps(partition, apps.at(-1) ?? '', apps_max)
    if (apps.some((app_id) => !tombstones.isLocked(app_id))) return true
  } while (apps.length === apps_max)
  return false
}
