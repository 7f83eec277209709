import { textLiterals } from '@tributary/clickhouse/literals'
import { consumers } from '@tributary/contracts/consumers'
import { decodeEnvelope } from '@tributary/contracts/decode-envelope'
import type { Envelope } from '@tributary/contracts/envelope'
import { toEventColumns, UnwritableEventError } from '@tributary/domain/event-row'
import { type ConsumerDefinition, defineConsumer } from '@tributary/service-kit/consumer/define-consumer'
import { findDecisions, findEvents, type StoredEvent } from './evidence.ts'
import { type OweDeps, oweAll, untilWritten } from './owe.ts'
import { type AppSettings, readAppSettings } from './settings-versions.ts'

/** Events of a batch. */
const batch_events_max = 10_000
const batch_bytes_max = 8 * 1024 * 1024

type Decoded = { envelope: Envelope; bytes: number }

/** An event on the log that some version of the app's settings names. */
interface NamedEvent {
  install_uuid: string
  day: string
  /** Names it among the events of the app in this batch. */
  place: string
  revenue: unknown
}

/** Adds what partners are owed because an event came: once event-writer has written it, if it counts. */
export function eventForwarder(deps: OweDeps): ConsumerDefinition<Decoded> {
  const { clickhouse, postgres, erased } = deps
  return defineConsumer({
    ...consumers.eventForwarder,
    ...(erased && { tombstones: erased }),
    appOf: ({ envelope }) => envelope.app_id,
    bounds: {
      rows_max: batch_events_max,
      bytes_max: batch_bytes_max,
      measure: ({ envelope, bytes }) => ({ rows: envelope.events.length, bytes }),
    },
    decode: (value) => ({ envelope: decodeEnvelope(value), bytes: value.length }),
    async handle({ records, partition, from, to, tombstones, signal, written }) {
      // 1. Settings of the apps. Most apps have none, and nothing is waited for.
      const apps = await readAppSettings(
        postgres,
        records.map(({ value }) => value.envelope.app_id),
      )
      const named = new Map<string, NamedEvent[]>()
      for (const { record, value } of records) {
        const { app_id } = value.envelope
        const found = namedEvents(value.envelope, record.offset, apps.get(app_id))
        if (found.length === 0) continue
        const before = named.get(app_id)
        if (before === undefined) named.set(app_id, found)
        else before.push(...found)
      }
      if (named.size === 0) return
      // 2. Events and verdicts that were on the log come into the tables: which events count stands there.
      await untilWritten(deps, signal)
      for (const [app_id, of] of named) {
        signal.throwIfAborted()
        const settings = apps.get(app_id)!
        const install_uuids = [...new Set(of.map(({ install_uuid }) => install_uuid))]
        const where = `t.day IN (${textLiterals(new Set(of.map(({ day }) => day)))})
          AND t.partition = ${partition} AND t.offset BETWEEN ${from} AND ${to}`
        const stored = await findEvents(clickhouse, { app_id, install_uuids, names: settings.names, where }, tombstones)
        const events = Map.groupBy(withRevenue(stored, of), ({ install_uuid }) => install_uuid)
        const decisions = await findDecisions(clickhouse, app_id, events.keys(), tombstones)
        // 3. Rows under their keys, before the commit. A crash now: the batch finds them there.
        written(
          await oweAll(
            deps,
            [...events].map(([install_uuid, some]) => ({
              ...{ app_id, install_uuid, settings, events: some, decisions: decisions.get(install_uuid) ?? [] },
            })),
            tombstones,
          ),
        )
      }
    },
  })
}

function namedEvents(envelope: Envelope, offset: number, settings: AppSettings | undefined): NamedEvent[] {
  if (settings === undefined) return []
  return envelope.events.flatMap((event) => {
    if (!settings.names.has(String(event.event_name))) return []
    try {
      const { day, event_key, key_day } = toEventColumns(envelope, event).made
      const { install_uuid } = envelope
      return {
        install_uuid: install_uuid.toWellFormed(),
        day,
        place: `${offset}/${key_day}/${event_key}`,
        revenue: event.revenue,
      }
    } catch (err) {
      if (err instanceof UnwritableEventError) return [] // event-writer makes a dead letter of it
      throw err
    }
  })
}

/** Revenue as it was sent: the table has it in micros, of a refund without its sign. */
function withRevenue(stored: readonly StoredEvent[], named: readonly NamedEvent[]): StoredEvent[] {
  const sent = new Map<string, unknown>()
  for (const { place, revenue } of named) if (!sent.has(place)) sent.set(place, revenue)
  return stored.map((event) => {
    const revenue = sent.get(`${event.offset}/${event.event_key}`)
    return typeof revenue === 'number' ? { ...event, revenue } : event
  })
}
