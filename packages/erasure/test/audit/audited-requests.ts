import { gunzipSync, gzipSync } from 'node:zlib'
import type { MemoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import fc from 'fast-check'

/** When the installs below were erased, Unix epoch ms. */
export const mark_ms = Date.UTC(2026, 5, 10, 12)
export const erased = ['erased-1', 'Erased_2'] as const
const others = ['erased-10', 'other'] as const
const day_of = (ms: number) => new Date(ms).toISOString().slice(0, 10)

/** An item of a request: its text as a client sent it, and whether it is to go. */
export interface Item {
  text: string
  install_uuid: string | null
  goes: boolean
}

/** A request as the gateway audited it, and the same without what is to go; null when nothing remains. */
export interface Audited {
  source: 'sdk' | 's2s' | 'bulk'
  received_at_ms: number
  event_id: string
  text: string
  rest: string | null
  installs: string[]
}

const minute_ms = 60_000
/** Before the mark, at it, after it. */
const time = fc.constantFrom(mark_ms - 3 * 24 * 60 * minute_ms, mark_ms, mark_ms + minute_ms)
const space = fc.constantFrom('', ' ', '\t ')

/** Texts that a JSON writer would write in another way. */
const extras = [
  '"n":12345678901234567890',
  '"n":1.0e3,"n":2',
  `"props":{"install_uuid":"${erased[0]}","deep":[[],{},"]}\\"",["\\\\"]]}`,
  '"user_id":"\\u00fc \\u003d \\ud83d\\ude42 ü"',
  '"props":{"install_uuid":7}',
]

const named = fc.record({ install_uuid: fc.constantFrom(...erased, ...others), event_ts_ms: fc.option(time), space })
const item = (received_at_ms: number): fc.Arbitrary<Item> =>
  fc.oneof(
    { weight: 8, arbitrary: fc.tuple(named, fc.subarray(extras), fc.boolean()).map(toItem(received_at_ms)) },
    fc
      .constantFrom('null', '7', '"text"', '[]', '{}', '{"install_uuid":null}', '{"install_uuid":""}')
      .map((text) => ({ text, install_uuid: null, goes: false })),
  )

const toItem =
  (received_at_ms: number) =>
  ([{ install_uuid, event_ts_ms, space }, more, escaped]: [
    { install_uuid: string; event_ts_ms: number | null; space: string },
    string[],
    boolean,
  ]): Item => {
    const first = `\\u00${install_uuid.charCodeAt(0).toString(16)}`
    const id = escaped ? `${first}${install_uuid.slice(1)}` : install_uuid
    const members = [...more, `${space}"install_uuid"${space}:${space}"${id}"`]
    if (event_ts_ms !== null) members.push(`"event_ts_ms":${event_ts_ms}`)
    const is_old = received_at_ms <= mark_ms || (event_ts_ms ?? received_at_ms) <= mark_ms
    const goes = (erased as readonly string[]).includes(install_uuid) && is_old
    return { text: `{${members.join(`,${space}`)}}`, install_uuid, goes }
  }

const headers = '"headers":{"user-agent":"a \\"body\\": {","x-service-sdk":"","x-service-platform":""}'
const head = (received_at_ms: number, more = '') =>
  `{${more}"received_at_ms":${received_at_ms},"ip":"1.2.3.4",${headers},"body":`
const goneOf = (items: Item[]) => [
  ...new Set(items.filter(({ goes }) => goes).map(({ install_uuid }) => install_uuid!)),
]
const textsOf = (items: Item[], separator = ',') => items.map(({ text }) => text).join(separator)

const sdkRequest = time.chain((received_at_ms) =>
  fc.tuple(fc.array(item(received_at_ms), { minLength: 1, maxLength: 5 }), space).map(([items, space]): Audited => {
    const body = (events: string) => `{${space}"x":{"events":[1]},"events"${space}:${space}${events}${space},"y":[]}`
    const kept = items.filter(({ goes }) => !goes)
    const installs = goneOf(items)
    const others = kept.some(({ install_uuid }) => install_uuid !== null)
    const text = `${head(received_at_ms)}${body(`[${space}${textsOf(items, `${space},${space}`)}${space}]`)}}`
    const without = others ? `${head(received_at_ms)}${body(`[${textsOf(kept)}]`)}}` : null
    const rest = installs.length === 0 ? text : without
    return { source: 'sdk', received_at_ms, event_id: '', text, rest, installs }
  }),
)

const bulkRequest = time.chain((received_at_ms) =>
  fc.array(item(received_at_ms), { minLength: 1, maxLength: 5 }).map((items): Audited => {
    const minted = (of: Item[]) =>
      JSON.stringify(
        Object.fromEntries(of.flatMap((one, n) => (one.text.length % 2 ? [[n, `m${items.indexOf(one)}`]] : []))),
      )
    const kept = items.filter(({ goes }) => !goes)
    const document = (of: Item[]) =>
      `${head(received_at_ms, `"minted_event_ids":${minted(of)},`)}{"events":[${textsOf(of)}]}}`
    const [text, installs] = [document(items), goneOf(items)]
    return {
      source: 'bulk',
      received_at_ms,
      event_id: '',
      text,
      rest: installs.length === 0 ? text : document(kept),
      installs,
    }
  }),
)

const singleRequest = time.chain((received_at_ms) =>
  fc.tuple(item(received_at_ms), fc.constantFrom('e', 'y'.repeat(300))).map(([one, event_id]): Audited => {
    const more = `"body_sha256":"${'0'.repeat(64)}","event_id":"${event_id}",`
    const text = `${head(received_at_ms, more)}${one.text}}`
    return { source: 's2s', received_at_ms, event_id, text, rest: one.goes ? null : text, installs: goneOf([one]) }
  }),
)

/** The requests of an object: those of SDKs share one, those of backends do not. */
export const auditedObject: fc.Arbitrary<Audited[]> = fc.oneof(
  fc.array(sdkRequest, { minLength: 1, maxLength: 4 }),
  fc.tuple(bulkRequest),
  fc.tuple(singleRequest),
)

/** Puts an object where the gateway would; gives its key. */
export function putObject(
  store: MemoryAuditStore,
  company_id: string,
  app_id: string,
  requests: Audited[],
  n: number,
): string {
  const [{ source, received_at_ms, text }] = requests as [Audited]
  const day = day_of(received_at_ms)
  const key = {
    sdk: `audit/${day.replaceAll('-', '/')}/${company_id}/${app_id}/${received_at_ms}-g-${n}.jsonl.gz`,
    bulk: `${app_id}/s2s/bulk/${day}/${n}.json`,
    s2s: `${app_id}/s2s/${day}/${n}.json`,
  }[source]
  const lines = Buffer.concat(requests.map((request) => gzipSync(`${request.text}\n`)))
  store.objects.set(key, source === 'sdk' ? lines : Buffer.from(text))
  return key
}

/** The texts of the requests that an object holds now; its mark left out. */
export function textsIn(key: string, content: Buffer): string[] {
  if (key.endsWith('.jsonl.gz')) return gunzipSync(content).toString().split('\n').slice(0, -1)
  return [content.toString().replace(/^\{"rewritten_at_ms":\d+,/, '{')]
}
