import { Decision } from '@tributary/contracts/attribution/decision'
import { consumers } from '@tributary/contracts/consumers'
import { limits } from '@tributary/contracts/limits'
import { isGone } from '@tributary/domain/erasure/tombstones'
import { type ConsumerDefinition, defineConsumer } from '@tributary/service-kit/consumer/define-consumer'
import { findDecisions, findEvents, receivedSince } from './evidence.ts'
import { type OweDeps, oweAll, untilWritten } from './owe.ts'
import { readAppSettings } from './settings-versions.ts'

/** Bounds of a batch, as those of install-writer. */
const batch_records_max = 2000
const batch_bytes_max = 8 * 1024 * 1024
/** Decisions of a batch of the attributor come at once. */
const fetch_bytes_min = 1

type Decided = Pick<Decision, 'app_id' | 'install_uuid' | 'installed_at_ms' | 'received_at_ms' | 'dated_at_ms'> & {
  bytes: number
}

/**
 * Adds what partners are owed because an install was decided: its `install`, and the events that came before its first verdict. It reads
 * all from the tables, so records are only its reasons to look.
 */
export function verdictForwarder(deps: OweDeps): ConsumerDefinition<Decided> {
  const { clickhouse, postgres, erased, now } = deps
  return defineConsumer({
    ...consumers.verdictForwarder,
    ...(erased && { tombstones: erased }),
    appOf: ({ app_id }) => app_id,
    fetch: { bytes_min: fetch_bytes_min },
    bounds: {
      rows_max: batch_records_max,
      bytes_max: batch_bytes_max,
      measure: ({ bytes }) => ({ rows: 1, bytes }),
    },
    decode({ value }) {
      const { app_id, install_uuid, installed_at_ms, received_at_ms, dated_at_ms } = Decision.parse(
        JSON.parse(value.toString()),
      )
      return { app_id, install_uuid, installed_at_ms, received_at_ms, dated_at_ms, bytes: value.length }
    },
    async handle({ records, tombstones, signal, dropped, written }) {
      const decided = records.map(({ value }) => value).filter((one) => !isGone(tombstones, one))
      dropped('erased', records.length - decided.length)
      // 1. Settings of the apps. Most apps have none, and nothing is waited for.
      const apps = await readAppSettings(
        postgres,
        decided.map(({ app_id }) => app_id),
      )
      const notified = Map.groupBy(
        decided.filter(({ app_id }) => apps.has(app_id)),
        ({ app_id }) => app_id,
      )
      if (notified.size === 0) return
      // 2. Events and verdicts that were on the log come into the tables.
      await untilWritten(deps, signal)
      const since_ms = now() - limits.partner_owed_ms_max
      for (const [app_id, of] of notified) {
        signal.throwIfAborted()
        const settings = apps.get(app_id)!
        const install_uuids = [...new Set(of.map(({ install_uuid }) => install_uuid))]
        const decisions = await findDecisions(clickhouse, app_id, install_uuids, tombstones)
        const first_ms = Math.min(...of.map(({ installed_at_ms }) => installed_at_ms))
        const wanted = { app_id, install_uuids, names: settings.names, where: receivedSince(since_ms, first_ms) }
        const events = Map.groupBy(await findEvents(clickhouse, wanted, tombstones), ({ install_uuid }) => install_uuid)
        // 3. Rows under their keys, before the commit. A crash now: the batch finds them there.
        written(
          await oweAll(
            deps,
            install_uuids.map((install_uuid) => ({
              ...{ app_id, install_uuid, settings, decisions: decisions.get(install_uuid) ?? [] },
              events: events.get(install_uuid) ?? [],
            })),
            tombstones,
          ),
        )
      }
    },
  })
}
