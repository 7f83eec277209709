import { dayFolders, objectsIn } from '@tributary/audit-store/audit-days'
import type { AuditStore, StoredObject } from '@tributary/audit-store/audit-store'
import { findMissing, identityOf, type Missing, type ReadEnvelope } from '@tributary/audited/missing-events'
import { readRequests } from '@tributary/audited/read-requests'
import type { Reading } from '@tributary/audited/reading'
import { topics } from '@tributary/contracts/topics'
import { newestTombstones } from '@tributary/domain/erasure/tombstones'
import type { Pause } from '@tributary/service-kit/service/pauses'
import type { AppFacts } from '@tributary/tenancy/companies/tenants'
import { eventName } from './dead-names.ts'
import { hourOf, type Looked, tallied } from './findings.ts'
import { findNamed, type NamedByRows, type Received } from './look-at-rows.ts'
import type { LookDeps } from './look-deps.ts'

/** Which of the audit objects are looked at, and what of them. */
export interface Chosen {
  /** What was received from then on, Unix epoch ms. */
  since_ms: number
  /** Those of the objects of a folder to look at. */
  choose(objects: readonly NamedObject[]): readonly NamedObject[]
}

/** An audit object in a folder of a day. */
export interface NamedObject extends Pick<StoredObject, 'key' | 'read'> {
  /** When the first request in it was received, Unix epoch ms; null where the name does not show it. */
  received_at_ms: number | null
}

/** Keys that have no row, by name, with where they are (`findRowlessKeys`). Names are taken out when their event is met. */
export type Rowless = Map<string, string>

/** Given on together: one look-up is of that size, and memory is bounded by it. */
const group_events = 5000
const group_bytes = 4 * 1024 * 1024

/** What was found, keys of all objects of the day, and the objects that rows of its due hours name. */
interface LookedAtRequests extends Looked {
  keys: Set<string>
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
 * - an object that can't be read, or that holds fewer events than rows name it for: `audit`.
 *
 * An object that as many different events name in `events_raw_v1` as it holds has all of them there: nothing of it is looked up.
 *
 * Events whose id the gateway made are left out where the log lacks them: a client that was answered 503 sent them again under another one.
 */
export async function lookAtRequests(
  deps: LookDeps,
  { app, day }: Day,
  chosen: Chosen & { ranges(): readonly Received[] },
  rowless: Rowless,
): Promise<LookedAtRequests> {
  const { audit, clickhouse, pause } = deps
  const { app_id } = app
  const log = tallied(app_id, topics.eventsAccepted.name)
  const rows = tallied(app_id, 'events_raw_v1')
  const unread = tallied(app_id, 'audit')
  const keys = new Set<string>()
  const hours = new Set<string>()
  const reading: Reading = {
    replayed: 0,
    doubt(reason, _count, key) {
      if (reason !== 'unreadable_object' || key == null) return
      damaged.add(key)
      unread.miss(receivedBy(key) ?? Date.parse(day), `${key} can't be read`)
    },
  }
  /** Envelopes of the object at hand, and of those before that are looked up. */
  let object: ReadEnvelope[] = []
  let sent = 0
  const damaged = new Set<string>()
  let group: ReadEnvelope[] = []
  let bytes = 0

  async function lookUp() {
    const erased = await newestTombstones(deps.tombstones)
    // The writer sets the records of a locked app aside.
    const read = erased.isLocked(app_id) ? [] : group
    const minted = new Set(read.flatMap((one) => [...(one.minted ?? [])]))
    const counts = (key: Parameters<typeof identityOf>[0]) => !rowless.has(identityOf(key))
    for (const missing of await findMissing({ clickhouse, erased, reading, pause, counts }, read))
      await note(missing, minted)
    group = []
    bytes = 0
  }

  async function note({ envelope, keys: lacking }: Missing, minted: ReadonlySet<string>) {
    const { received_at_ms, audit_key, install_uuid } = envelope
    for (const [at, event] of envelope.events.entries()) {
      const name = `event ${event.event_id} of install ${install_uuid} in ${audit_key}`
      const place = rowless.get(identityOf(lacking[at]!))
      if (place !== undefined) {
        rows.miss(received_at_ms, `${name}: its key is of ${place}`)
        rowless.delete(identityOf(lacking[at]!))
        continue
      }
      const isDead = (await deps.dead.events()).has(eventName({ app_id, install_uuid, event_id: event.event_id }))
      if (!isDead && !minted.has(event.event_id as string)) log.miss(received_at_ms, name)
    }
  }

  async function closeObject(audit_key: string | undefined) {
    const rows_name = audit_key === undefined ? 0 : (named.get(audit_key)?.events ?? 0)
    const key = audit_key?.startsWith('audit/') ? audit_key : `${app_id}/${audit_key}`
    // A file of several gzip members can be read to its end where the last ones are gone.
    if (rows_name > sent && !damaged.has(key))
      unread.miss(
        receivedBy(key) ?? Date.parse(day),
        `${audit_key} holds ${sent} events, and rows name it for ${rows_name}`,
      )
    if (rows_name < eventsOf(object)) group.push(...object)
    object = []
    sent = 0
    if (eventsOf(group) >= group_events || bytes >= group_bytes) await lookUp()
  }

  const folders = dayFolders(app_id, app.company_id, day)
  const chosenOf = new Map<string, readonly NamedObject[]>()
  for (const { folder } of folders) {
    const listed = await listObjects(audit, folder, pause)
    for (const { key } of listed) if (key !== null) keys.add(key)
    chosenOf.set(folder, chosen.choose(listed))
  }
  const named = await findNamed(deps, chosen.ranges())
  for (const { source, folder } of folders) {
    const objects = chosenOf.get(folder)!
    for (const { received_at_ms } of objects) unread.expect(received_at_ms ?? Date.parse(day))
    const isChosen = (at_ms: number) => at_ms >= chosen.since_ms
    const requests = readRequests({ audit, reading, pause }, { app, source, objects }, isChosen)
    let at_hand: string | undefined
    for await (const { received_at_ms, envelopes, sent: of_request, size } of requests) {
      const audit_key = envelopes[0]?.envelope.audit_key ?? at_hand
      if (audit_key !== at_hand) await closeObject(at_hand)
      at_hand = audit_key
      hours.add(`${app_id}/${hourOf(received_at_ms)}`)
      for (const one of [log, rows]) one.expect(received_at_ms, eventsOf(envelopes))
      object.push(...envelopes)
      sent += of_request
      bytes += size
    }
    await closeObject(at_hand)
  }
  await lookUp()
  return { differences: [log, rows, unread].flatMap((one) => one.differences()), hours, keys, named }
}

const eventsOf = (envelopes: readonly ReadEnvelope[]): number =>
  envelopes.reduce((sum, { envelope }) => sum + envelope.events.length, 0)

const timedName = /\/(\d{1,15})-[^/]*\.jsonl\.gz$/
const receivedBy = (key: string): number | null => {
  const found = timedName.exec(key)
  return found === null ? null : Number(found[1])
}

/** The objects directly in a folder. */
export async function listObjects(
  audit: Pick<AuditStore, 'list'>,
  folder: string,
  pause: Pause,
): Promise<NamedObject[]> {
  const listed: NamedObject[] = []
  for await (const object of objectsIn(audit, folder)) {
    await pause()
    const { key, read } = object
    listed.push({ key, read, received_at_ms: key === null ? null : receivedBy(key) })
  }
  return listed
}
