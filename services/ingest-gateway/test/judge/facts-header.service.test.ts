import { gzipSync } from 'node:zlib'
import { decodeEnvelope } from '@tributary/contracts/decode-envelope'
import { limits } from '@tributary/contracts/limits'
import { sdkEvent } from '@tributary/testing/builders'
import { expect, onTestFinished, test } from 'vitest'
import { type Gateway, openGateway } from '../gateway.ts'

const gzip = { 'content-encoding': 'gzip' }
const names = ['app_install', 'app_first_open', '_user_alias'] as const

async function open(): Promise<Gateway> {
  const gateway = await openGateway()
  onTestFinished(() => gateway.app.close())
  return gateway
}

/** The header `facts` of each record, by its install. */
const factsOf = (gateway: Gateway) =>
  Object.fromEntries(
    gateway.records().map(({ value, headers }) => [decodeEnvelope(value).install_uuid, headers.facts ?? 'none']),
  )

type Send = (gateway: Gateway, text: string) => Promise<{ statusCode: number }>

const batchOf = (text: string) => `{"events":[${text}],"sent_at_ms":1}`
/** A batch that is judged in the thread: its size is beyond what is judged here. */
const large = (text: string) =>
  `{"events":[${text}],"sent_at_ms":1,"filler":"${'x'.repeat(limits.inline_inflated_bytes_max)}"}`

const ways: Record<string, Send> = {
  'an SDK batch': (gateway, text) => gateway.event(batchOf(text)),
  'an SDK batch in gzip': (gateway, text) => gateway.event(gzipSync(batchOf(text)), gzip),
  'an SDK batch of unusual form': (gateway, text) => gateway.event(`{"sent_at_ms":1,"more":1,"events":[${text}]}`),
  'a large SDK batch': (gateway, text) => gateway.event(gzipSync(large(text)), gzip),
  'a single event of a backend': (gateway, text) => gateway.s2s('/s2s/event', text),
  'a bulk of a backend': (gateway, text) => gateway.s2s('/s2s/events/bulk', `{"events":[${text}]}`),
}

/** One event per install, each as JSON text. */
const sent = [
  ...names.map((event_name) => ({ event_name, facts: '1' })),
  ...['level_up', 'app_installs', 'APP_INSTALL', 'user_alias'].map((event_name) => ({ event_name, facts: '0' })),
]

test.each(Object.keys(ways))('the records of %s say in a header whether attribution has to read them', async (way) => {
  const gateway = await open()
  const expected: Record<string, string> = {}
  for (const [n, { event_name, facts }] of sent.entries()) {
    for (const escaped of [false, true]) {
      const install_uuid = `i-${n}-${escaped}`
      const text = JSON.stringify(sdkEvent({ install_uuid, event_name, event_ts_ms: gateway.now_ms }))
      const name = escaped ? `\\u00${event_name.charCodeAt(0).toString(16)}${event_name.slice(1)}` : event_name
      const answer = await ways[way]!(gateway, text.replace(`"${event_name}"`, `"${name}"`))
      expect(answer.statusCode).toBe(200)
      expected[install_uuid] = facts
    }
  }
  expect(factsOf(gateway)).toEqual(expected)
  const apart = await gateway.registry.getSingleMetric('tributary_ingest_bodies_judged_apart_total')!.get()
  if (way === 'a large SDK batch') expect(apart.values[0]!.value).toBe(2 * sent.length)
})

test.each(Object.keys(ways))(
  'the records of %s say in a header whether one of their events has a receipt',
  async (way) => {
    const gateway = await open()
    const receipt = { store: 'apple', jws: 'x' }
    for (const [install_uuid, props] of Object.entries({
      none: { level: 1 },
      one: { receipt },
      deeper: { a: { receipt } },
    })) {
      const text = JSON.stringify(sdkEvent({ install_uuid, props, event_ts_ms: gateway.now_ms }))
      expect((await ways[way]!(gateway, text)).statusCode).toBe(200)
    }
    const records = gateway
      .records()
      .map(({ value, headers }) => [decodeEnvelope(value).install_uuid, headers.receipts])
    expect(Object.fromEntries(records)).toEqual({ none: '0', one: '1', deeper: '0' })
  },
)

test('one fact among the events of an install is enough, and a rejected event is none', async () => {
  const gateway = await open()
  const event = (install_uuid: string, event_name: string, more = {}) =>
    sdkEvent({ install_uuid, event_name, event_ts_ms: gateway.now_ms, ...more })
  const { now_ms } = gateway
  const events = [
    ...[event('i-1', 'level_up'), event('i-1', '_user_alias'), event('i-1', 'level_up')],
    ...[event('i-2', 'level_up'), event('i-2', 'app_install', { event_ts_ms: now_ms * 2 }), event('i-3', 'level_up')],
  ]
  await gateway.event(JSON.stringify({ events }))
  await gateway.s2s('/s2s/events/bulk', {
    events: events.map((one) => ({ ...one, install_uuid: `b-${one.install_uuid}` })),
  })
  const [with_fact, without, other] = ['1', '0', '0']
  expect(factsOf(gateway)).toEqual({
    ...{ 'i-1': with_fact, 'i-2': without, 'i-3': other },
    ...{ 'b-i-1': with_fact, 'b-i-2': without, 'b-i-3': other },
  })
})
