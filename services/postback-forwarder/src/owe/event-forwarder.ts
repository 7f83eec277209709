import { textLiterals } from '@tributary/clickhouse/literals'
import { consumers } from '@tributary/contracts/consumers'
import { decodeEnvelope, decodeEnvelopeOrNull } from '@tributary/contracts/decode-envelope'
import { appOfKey, type Envelope } from '@tributary/contracts/envelope'
import { toEventColumns, UnwritableEventError } from '@tributary/domain/event-row'
import {
  type ConsumerDefinition,
  type DecodedRecord,
  defineConsumer,
} from '@tributary/service-kit/consumer/define-consumer'
import { createPauses } from '@tributary/service-kit/service/pauses'
import { findDecisions, findEvents, type StoredEvent } from './evidence.ts'
import { type OweDeps, oweAll, untilWritten } from './owe.ts'
import { type AppSettings, readAppSettings } from './settings-versions.ts'

/** Bytes of the records of a batch. */
const batch_bytes_max = 8 * 1024 * 1024
/** Events that are looked up and owed at a time; those of the last record come on top. */
const events_at_once_max = 10_000

/** An event on the log that some version of the app's settings names. */
interface NamedEvent {
  install_uuid: string
  offset: number
  day: string
  /** Names it among the events of the app in this batch. */
  place: string
  revenue: unknown
}

/** Adds what partners are owed because an event came: once event-writer has written it, if it counts. */
export function eventForwarder(deps: OweDeps): ConsumerDefinition<string> {
  const { clickhouse, postgres, erased } = deps
  return defineConsumer({
    ...consumers.eventForwarder,
    ...(erased && { tombstones: erased }),
    appOf: (app_id) => app_id,
    fetch: { bytes_max: batch_bytes_max },
    // Most apps notify nobody. Whether this one does may change until the batch is handled, so no more is read of its record.
    decode: (record) => appOfKey(record.key) ?? decodeEnvelope(record.value).app_id,
    async handle({ records, partition, tombstones, signal, dropped, written }) {
      // 1. Settings of the apps. Most apps have none, and nothing is waited for.
      const apps = await readAppSettings(
        postgres,
        records.map(({ value: app_id }) => app_id),
      )
      const { named, undecodable } = await findNamed(records, apps)
      // Event-writer makes the dead letter; what is retried of it comes here too.
      dropped('undecodable', undecodable)
      if (named.size === 0) return
      // 2. Events and verdicts that were on the log come into the tables: which events count stands there.
      await untilWritten(deps, signal)
      for (const [app_id, events] of named) {
        const settings = apps.get(app_id)!
        for (const part of partsOfRecords(events)) {
          signal.throwIfAborted()
          const install_uuids = [...new Set(part.map(({ install_uuid }) => install_uuid))]
          const where = `t.day IN (${textLiterals(new Set(part.map(({ day }) => day)))})
            AND t.partition = ${partition} AND t.offset BETWEEN ${part[0]!.offset} AND ${part.at(-1)!.offset}`
          const stored = await findEvents(
            clickhouse,
            { app_id, install_uuids, names: settings.names, where },
            tombstones,
          )
          const byInstall = Map.groupBy(withRevenue(stored, part), ({ install_uuid }) => install_uuid)
          const decisions = await findDecisions(clickhouse, app_id, byInstall.keys(), tombstones)
          // 3. Rows under their keys, before the commit. A crash now: the batch finds them there.
          written(
            await oweAll(
              deps,
              [...byInstall].map(([install_uuid, found]) => ({
                ...{ app_id, install_uuid, settings, events: found, decisions: decisions.get(install_uuid) ?? [] },
              })),
              tombstones,
            ),
          )
        }
      }
    },
  })
}

/** Events that settings name, by app, in the order of the log; and how many records cannot be read. */
async function findNamed(records: readonly DecodedRecord<string>[], apps: ReadonlyMap<string, AppSettings>) {
  const named = new Map<string, NamedEvent[]>()
  let undecodable = 0
  const pause = createPauses()
  for (const { record, value: app_id } of records) {
    const settings = apps.get(app_id)
    if (settings === undefined) continue
    await pause()
    const envelope = decodeEnvelopeOrNull(record.value)
    if (envelope === null) undecodable += 1
    const found = envelope === null ? [] : namedEvents(envelope, record.offset, settings)
    if (found.length === 0) continue
    const before = named.get(app_id)
    if (before === undefined) named.set(app_id, found)
    else before.push(...found)
  }
  return { named, undecodable }
}

/** Some `events_at_once_max` events at a time. A record is not split: a part is looked up by its offsets. */
function* partsOfRecords(events: readonly NamedEvent[]): Generator<readonly NamedEvent[]> {
  let part: NamedEvent[] = []
  for (const event of events) {
    if (part.length >= events_at_once_max && event.offset !== part.at(-1)!.offset) {
      yield part
      part = []
    }
    part.push(event)
  }
  yield part
}

function namedEvents(envelope: Envelope, offset: number, settings: AppSettings): NamedEvent[] {
  return envelope.events.flatMap((event) => {
    if (!settings.names.has(String(event.event_name))) return []
    try {
      const { day, event_key, key_day } = toEventColumns(envelope, event).made
      const { install_uuid } = envelope
      return {
        install_uuid: install_uuid.toWellFormed(),
        offset,
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
