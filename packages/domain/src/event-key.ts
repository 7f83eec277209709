import { hash } from 'node:crypto'
import type { Envelope } from '@tributary/contracts/envelope'
import { day_ms } from '@tributary/contracts/limits'
import { claimRanks } from '@tributary/contracts/rows'
import { utcDay } from './utc-day.ts'

/** The day of a key that holds for ever. */
export const installKeyDay = '1970-01-01'

/** The key that two events share if they are one (docs/rules.md#idempotency, docs/rules.md#app_install). */
export interface EventKey {
  /** Unsigned 64-bit decimal; always looked up together with the app. */
  event_key: string
  /**
   * UTC date. The key stands for this event on that day and on both neighbours; with `installKeyDay` it always does.
   */
  key_day: string
}

/** An `app_install` that is no identity migration: one per install, whatever its `event_id`. */
export const isInstall = (event_name: string, props: Record<string, unknown> | undefined): boolean =>
  event_name === 'app_install' && props?.identity_migration !== true

/**
 * First 8 bytes of SHA-256 of install and event id, or of the install alone. The leading word keeps the kinds apart: the `event_id` of an
 * install never makes another event a duplicate, and no app can know an id in advance that silences a store.
 */
export function eventKey(event: EventName): EventKey {
  if (event.install) return { event_key: first8Bytes(`install\0${event.install_uuid}`), key_day: installKeyDay }
  const kind = event.of_store ? 'store' : 'event'
  return { event_key: first8Bytes(`${kind}\0${event.install_uuid}\0${event.event_id}`), key_day: event.day }
}

interface EventName {
  install_uuid: string
  event_id: string
  day: string
  /** See `isInstall`. */
  install: boolean
  /** The source of the event is `store`. */
  of_store?: boolean
}

// Neighbours in a log usually have the same day.
let last: { key_day: string; days: readonly string[] } = { key_day: installKeyDay, days: [installKeyDay] }

/** The key days on which another event with the same key makes this one a duplicate: its own and both neighbours. */
export function duplicateDays(key_day: string): readonly string[] {
  if (key_day === installKeyDay) return [key_day]
  if (key_day !== last.key_day) {
    const at_ms = Date.parse(key_day)
    last = { key_day, days: [at_ms - day_ms, at_ms, at_ms + day_ms].map(utcDay) }
  }
  return last.days
}

/** No money, or money of no transaction. */
export const noTransaction = '0'

/** The key that two events share if they are the same money (docs/rules.md#money-once); unsigned 64-bit decimal, looked up with the app. */
export const transactionKey = (event_name: string, transaction_id: string): string =>
  first8Bytes(`transaction\0${event_name}\0${transaction_id}`)

/**
 * Stands for the transaction of an event that a store can confirm: no other event has it. The view `transaction_claims_mv_v1` computes the
 * same number, and leaves such events out.
 */
export const receiptKey = (event_key: string, day: string): string =>
  (BigInt(event_key) ^ BigInt.asUintN(64, BigInt(Date.parse(day) / day_ms) * odd_number)).toString()

/** Spreads the numbers of days over 64 bits. */
const odd_number = 11400714819323198485n

/** Anybody who holds an app can send SDK events; a backend has a server key. */
export const claimRank = (source: Envelope['source']): number =>
  source === 'sdk' ? claimRanks.sdk : claimRanks.backend

const first8Bytes = (text: string): string => BigInt(`0x${hash('sha256', text, 'hex').slice(0, 16)}`).toString()
