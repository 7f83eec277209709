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
 * First 8 bytes of SHA-256 of install and event id, or of the install alone. The leading word keeps both kinds apart,
 * so the `event_id` of an install never makes another event a duplicate.
 */
export function eventKey(event: { install_uuid: string; event_id: string; day: string; install: boolean }): EventKey {
  const text = event.install ? `install\0${event.install_uuid}` : `event\0${event.install_uuid}\0${event.event_id}`
  return { event_key: first8Bytes(text), key_day: event.install ? installKeyDay : event.day }
}

/** The key days on which another event with the same key makes this one a duplicate: its own and both neighbours. */
export function duplicateDays(key_day: string): string[] {
  if (key_day === installKeyDay) return [key_day]
  const at_ms = Date.parse(key_day)
  return [at_ms - day_ms, at_ms, at_ms + day_ms].map(utcDay)
}

/** No money, or money of no transaction. */
export const noTransaction = '0'

/** The key that two events share if they are the same money (docs/rules.md#money-once); unsigned 64-bit decimal, looked up with the app. */
export const transactionKey = (event_name: string, transaction_id: string): string =>
  first8Bytes(`transaction\0${event_name}\0${transaction_id}`)

/** Stands for the transaction of an event that a store can confirm: no other event has it. */
export const receiptKey = (event_key: string, day: string): string => first8Bytes(`receipt\0${event_key}\0${day}`)

/** Anybody who holds an app can send SDK events; a backend has a server key. */
export const claimRank = (source: Envelope['source']): number =>
  source === 'sdk' ? claimRanks.sdk : claimRanks.backend

const first8Bytes = (text: string): string => BigInt(`0x${hash('sha256', text, 'hex').slice(0, 16)}`).toString()
