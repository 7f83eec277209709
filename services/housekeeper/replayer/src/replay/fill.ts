import type { EventKey, Missing } from '@tributary/audited/missing-events'
import { untilWritten } from '@tributary/audited/until-written'
import type { Broker, OutgoingRecord } from '@tributary/broker/broker'
import type { Envelope } from '@tributary/contracts/envelope'
import { topics } from '@tributary/contracts/topics'
import { duplicateDays } from '@tributary/domain/event-key'
import { closeRecords, openRecords } from '@tributary/gateway/event-records'
import type { Pause } from '@tributary/service-kit/service/pauses'
import type { Tally } from './tally.ts'

export interface Fill {
  /** Puts missing events into the log again, all at once, in this order, each in the partition of its install. */
  add(missing: readonly Missing[]): Promise<void>
  /** Resolves when the writer has written what was added. */
  finish(): Promise<void>
}

interface FillDeps {
  broker: Pick<Broker, 'publish' | 'partitionCount' | 'groupOffsets'>
  dry_run: boolean
  tally: Tally
  signal: AbortSignal
  pause: Pause
}

/**
 * Events that may wait for the writer: more are added when it has written all that is in the log, live traffic
 * included. The writer thereby sets the speed of a replay, which adds about a second to its lag.
 */
const unwritten_events_max = 20_000

export async function openFill({ broker, dry_run, tally, signal, pause }: FillDeps): Promise<Fill> {
  const partitions = await broker.partitionCount(topics.eventsAccepted.name)
  const counted = countKeys()
  let unwritten = 0

  async function settle() {
    if (dry_run || unwritten === 0) return
    await untilWritten(broker, signal)
    unwritten = 0
  }

  return {
    async add(missing) {
      signal.throwIfAborted()
      const records: OutgoingRecord[] = []
      for (const { envelope } of missing) {
        await pause()
        records.push(...recordsOf(envelope, partitions))
      }
      if (!dry_run && records.length > 0) await broker.publish(records)
      for (const { keys } of missing) {
        await pause()
        tally.filled += counted(keys)
        unwritten += keys.length
      }
      if (unwritten >= unwritten_events_max) await settle()
    },
    finish: settle,
  }
}

function recordsOf({ install_uuid, audit_key, events, ...facts }: Envelope, partitions: number) {
  const ours = events.map((event) => ({ ...event, install_uuid }))
  return closeRecords(openRecords(facts, ours, partitions), audit_key)
}

/** More than wait for the writer, so that only a dry run can count a key twice, which came again far behind. */
const remembered_keys_max = 100_000

/** How many of these keys count: of those that came before in this replay, the writer drops the later ones. */
function countKeys(): (keys: readonly EventKey[]) => number {
  let recent = new Set<string>()
  let older = new Set<string>()
  const isKnown = (identity: string) => recent.has(identity) || older.has(identity)
  return (keys) => {
    let count = 0
    for (const { app_id, event_key, key_day } of keys) {
      if (duplicateDays(key_day).some((day) => isKnown(`${app_id}/${day}/${event_key}`))) continue
      recent.add(`${app_id}/${key_day}/${event_key}`)
      count += 1
      if (recent.size < remembered_keys_max / 2) continue
      older = recent
      recent = new Set()
    }
    return count
  }
}
