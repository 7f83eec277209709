import { dayFolders } from '@tributary/audit-store/audit-days'
import {
  type EventKey,
  findMissing,
  identityOf,
  type Missing,
  type ReadEnvelope,
} from '@tributary/audited/missing-events'
import { type ReadRequest, readRequests } from '@tributary/audited/read-requests'
import type { Reading } from '@tributary/audited/reading'
import { topics } from '@tributary/contracts/topics'
import { newestTombstones } from '@tributary/domain/erasure/tombstones'
import { duplicateDays } from '@tributary/domain/event-key'
import type { AppFacts } from '@tributary/tenancy/companies/tenants'
import { eventName } from './dead-names.ts'
import { hourOf, type Looked, type Tallied, tallied } from './findings.ts'
import {
  auditKey,
  listObjects,
  type NamedObject,
  objectKey,
  type Refusals,
  receivedBy,
  unreadable,
} from './list-objects.ts'
import { findNamed, type NamedByRows, type Received } from './look-at-rows.ts'
import type { LookDeps } from './look-deps.ts'

/** Which of the audit objects are looked at, and what of them. Times are Unix epoch ms. */
export interface Chosen {
  /** What was received from then on. */
  since_ms: number
  /** Exclusive. */
  until_ms: number
  /** Those of the objects of a folder of a UTC day to look at. */
  choose(objects: readonly NamedObject[], day: string): readonly NamedObject[]
  /** Called with an object that holds something that is left to the next comparison. */
  leave(key: string): void
}

/** Whether something is compared now. What came too late leaves its object to the next comparison. */
export function isInTime({ since_ms, until_ms, leave }: Chosen, received_at_ms: number, key: string | null): boolean {
  if (received_at_ms < until_ms) return received_at_ms >= since_ms
  if (key !== null) leave(key)
  return false
}

/** Objects of requests of one day: they are counted before they are chosen. */
interface ChosenRequests extends Chosen {
  count: ((objects: readonly NamedObject[]) => void) | null
  /** The due hours of the day, once its objects are counted. */
  ranges(): readonly Received[]
  /** Whether everything is read, whenever it was received: rows are missing whose events may be there. */
  is_whole: boolean
}

/** Names of keys, of all days of an app. */
export interface Keys {
  /** Keys that have no row, with where they are (`findRowlessKeys`). */
  rowless: ReadonlyMap<string, string>
  /** Those of them whose event was met. */
  met: Set<string>
  /** Those of events that the log lacks: one that came twice counts once, unless there are more than are remembered. */
  unlogged: Set<string>
}

/** Events that the log lacks and that are remembered, some 230 bytes each. */
const unlogged_max = 100_000

/** Given on together: one look-up is of that size, and memory is bounded by it. */
const group_events = 5000
const group_bytes = 4 * 1024 * 1024

/** What was found, and the objects that rows of the due hours name. */
interface LookedAtRequests extends Looked {
  named: Map<string, NamedByRows>
}

interface Day {
  app: AppFacts & { app_id: string }
  /** UTC date. */
  day: string
}

/**
 * Compares the requests of an app in the audit store, those of one day, with the keys and rows that the tables have of them:
 * - an event without a key came to no writer, and is no dead letter: the log lacks it;
 * - an event with a key and no row: `events_raw_v1` lacks it;
 * - an object that can't be read: `audit`.
 *
 * An object that as many different events name in `events_raw_v1` as it holds has all of them there: nothing of it is looked up.
 *
 * Events whose id the gateway made are left out where the log lacks them: a client that was answered 503 sent them again under another one.
 */
export async function lookAtRequests(
  deps: LookDeps,
  { app, day }: Day,
  chosen: ChosenRequests,
  keys: Keys,
): Promise<LookedAtRequests> {
  const { audit, pause } = deps
  const { app_id } = app
  const tallies = openTallies(deps, { app_id, day })
  const { unread, refusals, reading } = tallies
  const list = (folder: string) => listObjects(audit, folder, { pause, refusals })
  const folders = dayFolders(app_id, app.company_id, day)
  // Names of backends' objects show no hour.
  if (chosen.count !== null) for await (const listed of list(folders[0].folder)) chosen.count(listed)
  const named = await findNamed(deps, chosen.ranges())
  const lookUps = openLookUps(deps, { app_id, chosen, named, keys }, tallies)
  const isChosen = (at_ms: number, key: string | null) => isInTime(chosen, at_ms, key) || chosen.is_whole
  for (const { source, folder } of folders) {
    for await (const listed of list(folder)) {
      noteListed(named, app_id, listed)
      const objects = chosen.choose(listed, day)
      for (const { received_at_ms } of objects) unread.expect(received_at_ms ?? Date.parse(day))
      for await (const request of readRequests({ audit, reading, pause }, { app, source, objects }, isChosen))
        await lookUps.add(request)
      await lookUps.closeObject()
    }
  }
  await lookUps.end()
  return { ...tallies.looked(), named }
}

/** Notes which of the objects that rows name are there. */
function noteListed(named: Map<string, NamedByRows>, app_id: string, listed: readonly NamedObject[]): void {
  for (const { key } of listed) {
    const of = key === null ? undefined : named.get(auditKey(app_id, key))
    if (of !== undefined) of.is_listed = true
  }
}

type Tallies = ReturnType<typeof openTallies>

/** What is counted of the objects of a day. */
function openTallies({ suspects }: LookDeps, { app_id, day }: { app_id: string; day: string }) {
  const log = tallied(app_id, topics.eventsAccepted.name, suspects)
  const rows = tallied(app_id, 'events_raw_v1', suspects)
  const unread = tallied(app_id, 'audit', suspects)
  const hours = new Set<string>()
  const refusals: Refusals = new Map()
  const damaged = new Set<string>()
  const reading: Reading = {
    replayed: 0,
    doubt(reason, _count, key) {
      if (reason !== 'unreadable_object' || key == null) return
      damaged.add(key)
      suspects.readAgain(key)
      unread.miss(receivedBy(key) ?? Date.parse(day), { example: unreadable(key, refusals), name: key })
    },
  }
  /** Compares the events of an object with those that rows name it for. A file of several gzip members can be read to its end without the last ones. */
  function compareSent(audit_key: string, sent: number, rows_name: number): void {
    const key = objectKey(app_id, audit_key)
    if (rows_name <= sent || damaged.has(key)) return
    suspects.readAgain(key)
    const example = `${audit_key} holds ${sent} events, and rows name it for ${rows_name}`
    unread.miss(receivedBy(key) ?? Date.parse(day), { example, name: key })
  }
  const looked = (): Looked => ({ differences: [log, rows, unread].flatMap((one) => one.differences()), hours })
  return { log, rows, unread, hours, refusals, reading, compareSent, looked }
}

interface LookUps {
  app_id: string
  chosen: Chosen
  named: ReadonlyMap<string, NamedByRows>
  keys: Keys
}

/** Gathers the events of objects, and looks up those that rows do not name in full. */
function openLookUps(deps: LookDeps, { app_id, chosen, named, keys }: LookUps, tallies: Tallies) {
  const { log, rows, hours, reading } = tallies
  const { clickhouse, pause } = deps
  /** Envelopes of the object at hand, and of those before that are looked up. */
  let object: ReadEnvelope[] = []
  let at_hand: string | undefined
  let sent = 0
  let object_bytes = 0
  let group: ReadEnvelope[] = []
  let bytes = 0

  async function lookUp() {
    const erased = await newestTombstones(deps.tombstones)
    // The writer sets the records of a locked app aside.
    const read = erased.isLocked(app_id) ? [] : group
    const minted = new Set(read.flatMap((one) => [...(one.minted ?? [])]))
    const hasRow = (key: EventKey) => !keys.rowless.has(identityOf(key))
    for (const missing of await findMissing({ clickhouse, erased, reading, pause, counts: hasRow }, read))
      await note(deps, missing, { log, rows, keys, minted, chosen })
    group = []
    bytes = 0
  }

  async function closeObject() {
    if (at_hand !== undefined) {
      const rows_name = named.get(at_hand)?.events ?? 0
      tallies.compareSent(at_hand, sent, rows_name)
      if (rows_name < eventsOf(object)) {
        group.push(...object)
        bytes += object_bytes
      }
    }
    object = []
    sent = 0
    object_bytes = 0
    at_hand = undefined
    if (eventsOf(group) >= group_events || bytes >= group_bytes) await lookUp()
  }

  return {
    closeObject,
    end: lookUp,
    async add({ received_at_ms, envelopes, sent: of_request, size }: ReadRequest) {
      const audit_key = envelopes[0]?.envelope.audit_key ?? at_hand
      if (audit_key !== at_hand) await closeObject()
      at_hand = audit_key
      hours.add(`${app_id}/${hourOf(received_at_ms)}`)
      for (const one of [log, rows]) one.expect(received_at_ms, eventsOf(envelopes))
      object.push(...envelopes)
      sent += of_request
      object_bytes += size
    },
  }
}

interface NotedIn {
  log: Tallied
  rows: Tallied
  keys: Keys
  minted: ReadonlySet<string>
  chosen: Chosen
}

/** Counts events that have no key, and those whose key has no row. */
async function note(
  { dead, suspects }: LookDeps,
  missing: Missing,
  { log, rows, keys: { rowless, met, unlogged }, minted, chosen }: NotedIn,
): Promise<void> {
  const { received_at_ms, audit_key, app_id, install_uuid, events } = missing.envelope
  for (const [at, event] of events.entries()) {
    const example = `event ${event.event_id} in ${audit_key}`
    const key = missing.keys[at]!
    // To the writer the same event of a neighbouring day is this one.
    const names = duplicateDays(key.key_day).map((key_day) => identityOf({ ...key, key_day }))
    suspects.readAgain(objectKey(app_id, audit_key))
    if (names.some((one) => met.has(one) || unlogged.has(one))) continue
    const stored = names.find((one) => rowless.has(one))
    if (stored !== undefined) {
      rows.miss(received_at_ms, { example: `${example}: its key is of ${rowless.get(stored)}`, name: stored })
      met.add(stored)
      continue
    }
    if (received_at_ms >= chosen.until_ms || minted.has(event.event_id as string)) continue
    const name = identityOf(key)
    if (unlogged.size >= unlogged_max) unlogged.clear()
    unlogged.add(name)
    const isDead = (await dead.events()).has(eventName({ app_id, install_uuid, event_id: event.event_id }))
    if (!isDead) log.miss(received_at_ms, { example, name })
  }
}

const eventsOf = (envelopes: readonly ReadEnvelope[]): number =>
  envelopes.reduce((sum, { envelope }) => sum + envelope.events.length, 0)
