import type { Pool } from 'pg'
import type { OpenWork } from '../batch/batch.ts'
import type { FailedApps } from './failures.ts'
import { type RequestStore, takeRequests } from './open-requests.ts'

export interface Taking {
  /** Takes what is queued; returns what it waits for instead. */
  take(): Promise<OpenWork[]>
  /** What installs with tombstones up to this number wait for before their batch may begin. */
  unreadSince(tombstones: number): Promise<OpenWork[]>
}

/**
 * Takes requests so that the lag of event-writer decides no claim (docs/rules.md#erasure):
 * 1. what stood in the log when the run began is in the tables before tombstones are written, the claims of the installs included
 * 2. what stood in the log when tombstones were written is read before their batch looks for the best claims
 * A crash after each: the next run notes the log anew, which is later.
 */
export async function takeInTurn(deps: RequestStore, failed: FailedApps): Promise<Taking> {
  let before = await deps.noteLog()
  /** What stood in the log when the tombstones up to a number were there, in their order. */
  const noted = [{ tombstones: await newestNumber(deps.pool), log: before }]
  let read_number = -1

  return {
    async take() {
      const unread = await before.unread()
      if (unread.length > 0) return unread
      const taken = await takeRequests(deps, failed)
      before = await deps.noteLog()
      if (taken > 0) noted.push({ tombstones: await newestNumber(deps.pool), log: before })
      return []
    },
    async unreadSince(tombstones) {
      while (tombstones > read_number) {
        const next = noted[0]
        // Another eraser has written them: what is noted now is later.
        if (next === undefined) noted.push({ tombstones, log: await deps.noteLog() })
        const { log, tombstones: number } = noted[0]!
        const left = await log.unread()
        if (left.length > 0) return left
        read_number = number
        noted.shift()
      }
      return []
    },
  }
}

/** The number of the newest tombstone. */
export async function newestNumber(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ number: string }>('SELECT coalesce(max(number), 0) AS number FROM tombstones')
  return Number(rows[0]!.number)
}
