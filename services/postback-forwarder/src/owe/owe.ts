import type { Broker } from '@tributary/broker/broker'
import { waitUntilRead } from '@tributary/broker/wait-until-read'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { consumers } from '@tributary/contracts/consumers'
import { install_postback } from '@tributary/contracts/partner-postback'
import type { Tombstones } from '@tributary/domain/erasure/tombstones'
import { type CountedEvent, type DecidedInstall, owedOf } from '@tributary/domain/partner/owed'
import type { ErasedRecords } from '@tributary/erasure/erased-records'
import { type AddedPostback, addOwed } from '@tributary/tables/partners/due-postbacks'
import { freeErased } from '@tributary/tables/partners/erased-postbacks'
import type { Pool } from 'pg'
import type { AppSettings } from './settings-versions.ts'

export interface OweDeps {
  broker: Pick<Broker, 'groupOffsets'>
  clickhouse: Pick<Clickhouse, 'query'>
  postgres: Pick<Pool, 'query'>
  /** Tombstones; without them nothing counts as erased. */
  erased?: ErasedRecords
  now(): number
  /** Called when something new is due. */
  onOwed?(): void
}

/**
 * Waits until the tables hold what stood in the log when the batch began. Whoever looks later than the other of the two consumers sees
 * verdict and event, so that one of them adds the postback (docs/decisions/postbacks.md#verdicts-and-events-find-each-other).
 */
export async function untilWritten({ broker }: Pick<OweDeps, 'broker'>, signal: AbortSignal): Promise<void> {
  await Promise.all([
    waitUntilRead(consumers.eventWriter, { broker, signal }),
    waitUntilRead(consumers.installWriter, { broker, signal }),
  ])
}

interface KnownInstall {
  app_id: string
  install_uuid: string
  decisions: readonly DecidedInstall[]
  events: readonly CountedEvent[]
  settings: AppSettings
}

/**
 * Adds what is owed for installs and not there yet; gives back how many postbacks are new. The tombstones are those with which the evidence
 * was read.
 */
export async function oweAll(
  { postgres, now, onOwed }: OweDeps,
  installs: readonly KnownInstall[],
  tombstones: Tombstones,
): Promise<number> {
  const now_ms = now()
  const owed = installs.flatMap(({ app_id, install_uuid, settings, ...known }): AddedPostback[] =>
    owedOf({ ...known, settingsAt: settings.settingsAt, now_ms }).map((one) => ({ ...one, app_id, install_uuid })),
  )
  // Two lives of an install have the key of `install` in common.
  const again = owed.flatMap((one) => {
    const mark_ms = one.event_key === install_postback ? tombstones.markOf(one.app_id, one.install_uuid) : null
    return mark_ms === null ? [] : { ...one, mark_ms }
  })
  await freeErased(postgres, again)
  const added = owed.length === 0 ? 0 : await addOwed(postgres, owed, now_ms)
  if (added > 0) onOwed?.()
  return added
}
