import type { Committed } from '../broker.ts'
import type { LogStore, Staging } from './log-store.ts'

/** What each group has committed: in lmdb, with a copy in memory that holds only what is durable. */
export interface CommittedOffsets {
  get(group: string, topic: string, partition: number): Committed | null
  /** The write for a commit; `assertOwned` throws when the partition belongs to someone else by the time it is made. */
  write(
    group: string,
    topic: string,
    partition: number,
    committed: Committed,
    assertOwned: () => void,
  ): { stage(staging: Staging): void; applied(): void }
  /** Groups that have committed anything of a topic. */
  groupsOf(topic: string): Set<string>
}

/** Loads every commit of the store. */
export function openCommittedOffsets(store: LogStore): CommittedOffsets {
  const known = new Map<string, Committed>()
  const groups = new Map<string, Set<string>>()
  const nameOf = (group: string, topic: string, partition: number) => `${group}\n${topic}\n${partition}`

  function remember(group: string, topic: string, partition: number, committed: Committed) {
    known.set(nameOf(group, topic, partition), committed)
    const ofTopic = groups.get(topic) ?? new Set()
    groups.set(topic, ofTopic.add(group))
  }

  for (const { key, value } of store.offsets.getRange({})) remember(...key, value)

  return {
    get: (group, topic, partition) => known.get(nameOf(group, topic, partition)) ?? null,
    write: (group, topic, partition, committed, assertOwned) => ({
      stage(staging) {
        assertOwned()
        staging.change(() => store.offsets.put([group, topic, partition], committed))
      },
      applied: () => remember(group, topic, partition, committed),
    }),
    groupsOf: (topic) => new Set(groups.get(topic)),
  }
}
