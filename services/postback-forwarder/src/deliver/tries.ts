import { randomUUID } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { createFailedInserts } from '@tributary/clickhouse/failed-inserts'
import { insertRows } from '@tributary/clickhouse/insert-rows'
import { limits } from '@tributary/contracts/limits'
import { isGone, newestTombstones, type TombstoneStore, type Tombstones } from '@tributary/domain/erasure/tombstones'
import { deliveryColumns, deliveryLine, type LoggedTry } from '@tributary/tables/partners/deliveries'
import { type EndedTry, endTries } from '@tributary/tables/partners/due-postbacks'
import type { Pool } from 'pg'
import type { Logger } from 'pino'

export interface TriesDeps {
  clickhouse: Pick<Clickhouse, 'insert'>
  postgres: Pick<Pool, 'query'>
  /** Tombstones; without them nothing counts as erased. */
  erased?: TombstoneStore
  now(): number
  logger: Logger
}

/** A try that is over; `logged` is null for one that never began. */
export interface OverTry {
  ended: EndedTry
  logged: LoggedTry | null
}

/** Whether a postback is of an erased life of its install; false while its app is locked. */
export const isErasedLife = (
  tombstones: Tombstones,
  { app_id, install_uuid, dated_at_ms }: { app_id: string; install_uuid: string; dated_at_ms: number },
): boolean => !tombstones.isLocked(app_id) && isGone(tombstones, { app_id, install_uuid, received_at_ms: dated_at_ms })

/** Tries of one insert. */
const tries_max = 1000
/** Maximum of tries that wait for the log: no more are begun. */
const waiting_max = 4000
/** Pause before an insert, in which more tries come: an insert of many costs as much as one of few. */
const linger_ms = 100
const retry_ms = 1000

/**
 * Ends tries in groups: the log first, then the marks, so that what is marked is in the log. A process that is killed between them tries
 * again, and logs that too.
 */
export function endedTries({ clickhouse, postgres, erased, now, logger }: TriesDeps) {
  let waiting: OverTry[] = []
  let flushing: Promise<void> | null = null
  let isAway = false

  /** Leaves out tries of erased lives whose lease ended: the eraser waited for them no longer, and looks for no more rows. */
  async function withoutLate(tries: readonly LoggedTry[]): Promise<readonly LoggedTry[]> {
    const isLate = ({ tried_at_ms }: LoggedTry) => now() - tried_at_ms >= limits.partner_lease_ms
    if (!tries.some(isLate)) return tries
    const tombstones = await newestTombstones(erased)
    return tries.filter((one) => !(isLate(one) && isErasedLife(tombstones, one)))
  }

  async function flush(): Promise<void> {
    const some = waiting.slice(0, tries_max)
    const logged = await withoutLate(some.flatMap((one) => one.logged ?? []))
    if (logged.length > 0) {
      const into = { table: 'partner_deliveries_v1', columns: deliveryColumns }
      const token = `postback-forwarder/${randomUUID()}`
      const options = { clickhouse, failed: createFailedInserts(), into, token, attempt: 1 }
      const refused = await insertRows(logged, deliveryLine, options)
      for (const { err } of refused)
        logger.error({ err }, 'a try to deliver a postback is not in the log: ClickHouse refused it')
    }
    await endTries(
      postgres,
      some.map(({ ended }) => ended),
      now(),
    )
    waiting = waiting.slice(some.length)
  }

  async function flushAll(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, linger_ms))
    while (waiting.length > 0) {
      try {
        await flush()
        isAway = false
      } catch (err) {
        isAway = true
        logger.warn({ err, waiting: waiting.length }, 'tries to deliver postbacks wait for their log')
        await new Promise((resolve) => setTimeout(resolve, retry_ms))
      }
    }
  }

  return {
    /** False while log or marks cannot be written: leases of what was answered end meanwhile, and it would be sent again. */
    hasRoom: () => !isAway && waiting.length < waiting_max,
    add(one: OverTry): void {
      waiting.push(one)
      flushing ??= flushAll().finally(() => {
        flushing = null
      })
    },
    /** Resolves once everything is in the log and marked, or after the given time. */
    async settle(wait_ms: number): Promise<void> {
      const deadline = Date.now() + wait_ms
      while (flushing !== null && Date.now() < deadline) {
        await Promise.race([flushing, new Promise((resolve) => setTimeout(resolve, wait_ms))])
      }
    },
  }
}
