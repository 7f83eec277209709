import type { RequestSource } from '@tributary/contracts/envelope'
import { isErased } from '@tributary/domain/erasure/is-erased'
import { type Edit, elementsOf, membersOf, type Span, splice } from './json-spans.ts'
import { mayName, memberName } from './named-ids.ts'

/** The mark of an erased install, Unix epoch ms, else null. */
export type MarkOf = (install_uuid: string) => number | null

/** How a request came; decides the form of its audit object. */
export type AuditSource = RequestSource

/** A request without the events of erased installs. */
export interface ErasedRequest {
  /** All other bytes as they were; null when nothing of anyone else remains. */
  rest: Buffer | null
  /** The installs that events were taken out of. */
  installs: ReadonlySet<string>
}

const install_member = memberName('install_uuid')

/**
 * Takes the erased events (`isErased`) out of an audited request: one line of an SDK object, or the document of a backend.
 * Null when it holds none. The rest is not made anew: its bytes are those that came (docs/rules.md#rewritten-audit-objects).
 * Throws where the text is no request.
 */
export function eraseRequest(json: Buffer, source: AuditSource, markOf: MarkOf): ErasedRequest | null {
  if (!mayName(json, install_member, (id) => markOf(id) !== null)) return null
  const head = partsOf(json, 0)
  const body = head.get('body')
  const received_at_ms = numberOf(json, head.get('received_at_ms'))
  if (body === undefined || received_at_ms === undefined) throw new RangeError('an audit object holds no request')
  if (source === 's2s') return eraseSingle(json, body, received_at_ms, markOf)
  return eraseBatch(json, { source, body, received_at_ms, indexed: indexedOf(head), markOf })
}

/** When a request was received, Unix epoch ms, that may hold events of installs; null for any other. Throws where the text is no request. */
export function receiptOf(json: Buffer, isAsked: (install_uuid: string) => boolean): number | null {
  if (!mayName(json, install_member, isAsked)) return null
  const received_at_ms = numberOf(json, partsOf(json, 0).get('received_at_ms'))
  if (received_at_ms === undefined) throw new RangeError('an audit object holds no request')
  return received_at_ms
}

function eraseSingle(json: Buffer, body: Span, received_at_ms: number, markOf: MarkOf): ErasedRequest | null {
  const { install_uuid, ...times } = eventOf(json, body)
  if (install_uuid === null || !isErased({ received_at_ms, ...times }, markOf(install_uuid))) return null
  return { rest: null, installs: new Set([install_uuid]) }
}

interface AuditedBatch {
  source: AuditSource
  body: Span
  received_at_ms: number
  /** Members of the head that say something of events by their index. */
  indexed: readonly Span[]
  markOf: MarkOf
}

function eraseBatch(
  json: Buffer,
  { source, body, received_at_ms, indexed, markOf }: AuditedBatch,
): ErasedRequest | null {
  const sent_at_ms = source === 'sdk' ? numberOf(json, partsOf(json, body.from).get('sent_at_ms')) : undefined
  const received = { received_at_ms, ...(sent_at_ms !== undefined && { sent_at_ms }) }
  const { edits, installs, others, indexes } = cutEvents(
    json,
    body,
    ({ install_uuid, ...times }) => install_uuid !== null && isErased({ ...received, ...times }, markOf(install_uuid)),
  )
  if (installs.size === 0) return null
  // Events that name no install came with the erased ones, from the same device.
  if (source === 'sdk' && !others) return { rest: null, installs }
  for (const span of indexed) edits.push({ ...span, to_be: moveIndexed(json, span, indexes) })
  return { rest: splice(json, edits), installs }
}

interface CutEvents {
  edits: Edit[]
  /** The installs of the events that are cut out. */
  installs: Set<string>
  /** Whether an event of another install stays. */
  others: boolean
  /** The indexes of the events that stay. */
  indexes: number[]
}

/** Cuts events out of every member `events`: a client may give it several times. The last one counted, and each may hold a person's. */
function cutEvents(json: Buffer, body: Span, isOut: (event: EventFacts) => boolean): CutEvents {
  const cut: CutEvents = { edits: [], installs: new Set(), others: false, indexes: [] }
  for (const { name, value } of membersOf(json, body.from)) {
    if (name !== 'events') continue
    const spans = [...elementsOf(json, value.from)]
    cut.indexes = []
    for (const [index, span] of spans.entries()) {
      const event = eventOf(json, span)
      if (isOut(event)) cut.installs.add(event.install_uuid!)
      else {
        cut.indexes.push(index)
        cut.others ||= event.install_uuid !== null
      }
    }
    if (cut.indexes.length === spans.length) continue
    const kept = cut.indexes.map((index) => spans[index]!)
    cut.edits.push({ ...value, to_be: arrayOf(json, kept) })
  }
  return cut
}

/** An array of values of the text, each as it stands there. */
function arrayOf(json: Buffer, spans: readonly Span[]): Buffer {
  const values = spans.flatMap((span) => [comma, slice(json, span)]).slice(1)
  return Buffer.concat([Buffer.from('['), ...values, Buffer.from(']')])
}

const comma = Buffer.from(',')

/** The ids that the gateway minted and the countries that it found, each by the index of its event. */
const indexedOf = (head: ReadonlyMap<string, Span>): Span[] =>
  ['minted_event_ids', 'countries'].flatMap((name) => head.get(name) ?? [])

/** The values by the index that their events have now; `indexes` are the indexes that they had. */
function moveIndexed(json: Buffer, span: Span, indexes: readonly number[]): Buffer {
  const values = readValue(json, span) as Record<string, string>
  const moved = indexes.flatMap((was, is) => (values[was] === undefined ? [] : [[is, values[was]] as const]))
  return Buffer.from(JSON.stringify(Object.fromEntries(moved)))
}

/** The members of an object by name; the last of a name counts. */
const partsOf = (json: Buffer, at: number): Map<string, Span> =>
  new Map([...membersOf(json, at)].map(({ name, value }) => [name, value]))

const slice = (json: Buffer, { from, to }: Span): Buffer => json.subarray(from, to)
const readValue = (json: Buffer, span: Span): unknown => JSON.parse(slice(json, span).toString('utf8'))

function numberOf(json: Buffer, span: Span | undefined): number | undefined {
  const value = span && readValue(json, span)
  return typeof value === 'number' ? Math.round(value) : undefined
}

/** The members of an event that decide whether it is erased. */
interface EventFacts {
  install_uuid: string | null
  event_ts_ms?: number
}

/** An item of a batch may be anything. */
function eventOf(json: Buffer, span: Span): EventFacts {
  const { install_uuid, event_ts_ms } = (readValue(json, span) ?? {}) as Record<string, unknown>
  return {
    install_uuid: typeof install_uuid === 'string' && install_uuid !== '' ? install_uuid : null,
    ...(typeof event_ts_ms === 'number' ? { event_ts_ms } : {}),
  }
}
