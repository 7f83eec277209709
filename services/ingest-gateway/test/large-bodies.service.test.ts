import { gzipSync } from 'node:zlib'
import { limits } from '@tributary/contracts/limits'
import { sdkEvent, signedHeaders } from '@tributary/testing/builders'
import { expect, onTestFinished, test } from 'vitest'
import { openGateway } from './gateway.ts'

async function open() {
  const gateway = await openGateway()
  onTestFinished(() => gateway.app.close())
  const small = JSON.stringify({ events: [sdkEvent({ event_ts_ms: gateway.now_ms })] })
  return { gateway, small }
}
const gzip = { 'content-encoding': 'gzip' }

/** 3 MiB that take a quarter of a second to become values: nothing but small arrays, in few kilobytes of gzip. */
const hostile = gzipSync(`{"events":[{"event_id":"1","props":{"a":[${'[],'.repeat(1_000_000)}[]]}}]}`)

test('while a body that is slow to parse is judged, others are answered', async () => {
  const { gateway, small } = await open()
  const order: string[] = []
  const slow = gateway.event(hostile, gzip).then((answer) => {
    order.push('slow')
    return answer
  })
  for (let n = 0; n < 20; n += 1) {
    const answer = await gateway.event(small, {}, gateway.other)
    expect(answer.statusCode).toBe(200)
    order.push('other')
  }
  const answer = await slow
  expect(answer.json()).toMatchObject({ accepted: 0, rejected: 1 })
  expect(order.at(-1)).toBe('slow')
})

/** JSON of so many bytes that takes the most time that JSON may. */
const arrays = (bytes: number) => `{"events":[{"event_id":"1","props":{"a":[${'[],'.repeat(bytes / 3)}[]]}}]}`

test('an app that used its time of the second up is judged apart, and so is slow JSON; others are judged as before', async () => {
  const { gateway, small } = await open()
  const apart = async () =>
    (await gateway.registry.getSingleMetric('tributary_ingest_bodies_judged_apart_total')!.get()).values[0]!.value
  await gateway.event(arrays(100_000))
  expect(await apart()).toBe(0)
  await gateway.event(arrays(200_000))
  expect(await apart()).toBe(1)
  for (let n = 0; n < 500 && (await apart()) === 1; n += 1) await gateway.event(arrays(100_000))
  expect(await apart()).toBe(2)
  expect((await gateway.event(small, {}, gateway.other)).json()).toMatchObject({ accepted: 1 })
  expect(await apart()).toBe(2)
})

test('an app that sends many slow bodies waits behind itself: the large body of another is next', async () => {
  const { gateway } = await open()
  const order: string[] = []
  const flood = Array.from({ length: 6 }, () => gateway.event(hostile, gzip).then(() => order.push('flood')))
  const events = Array.from({ length: 400 }, () =>
    sdkEvent({ event_ts_ms: gateway.now_ms, props: { filler: 'x'.repeat(1500) } }),
  )
  const large = JSON.stringify({ events })
  await gateway.event(large, {}, gateway.other).then((answer) => {
    order.push('other')
    expect(answer.json()).toMatchObject({ accepted: 400 })
  })
  expect(order.length).toBeLessThanOrEqual(2)
  await Promise.all(flood)
})

test('large bodies get the same answers, records and audit objects as small ones', async () => {
  const { gateway } = await open()
  const event = (n: number, filler: number) =>
    sdkEvent({
      ...{ event_id: `e-${filler}-${n}`, install_uuid: `i-${n % 3}`, event_ts_ms: gateway.now_ms },
      props: { filler: 'ü'.repeat(filler) },
    })
  for (const filler of [1, 5000]) {
    const events = [...Array.from({ length: 300 }, (_, n) => event(n, filler)), { event_id: 'bad' }]
    for (const body of [JSON.stringify({ events }), gzipSync(JSON.stringify({ events }))]) {
      const answer = await gateway.event(body, Buffer.isBuffer(body) ? gzip : {})
      if (answer.statusCode === 413) continue // plain, above what the wire may hold
      expect(answer.json()).toMatchObject({ accepted: 300, rejected: 1 })
    }
    const bulk = await gateway.s2s('/s2s/events/bulk', { events })
    expect(bulk.json()).toMatchObject({ accepted: 300, rejected: 1 })
    const sent = gateway.envelopes()
    for (const source of ['sdk', 'bulk']) {
      const stored = sent
        .filter((envelope) => envelope.source === source)
        .flatMap((envelope) => envelope.events)
        .filter(({ event_id }) => String(event_id).startsWith(`e-${filler}-`))
      const times = stored.length / 300
      expect([1, 2]).toContain(times)
      expect(new Set(stored.map((one) => one.event_id)).size).toBe(300)
      expect(stored.find((one) => one.event_id === `e-${filler}-0`)).toEqual(events[0])
    }
    expect(JSON.parse(gateway.auditLines().at(-1)!).body).toEqual({ events })
  }
})

test('faults of large bodies have the codes of small ones', async () => {
  const { gateway } = await open()
  const broken = `{"events":[${'x'.repeat(900_000)}`
  expect((await gateway.event(broken)).json().error).toBe('bad_json')
  expect((await gateway.event(gzipSync(broken).subarray(0, -4), gzip)).json().error).toBe('bad_gzip')
  const bomb = gzipSync(Buffer.alloc(9 * 2 ** 20))
  expect((await gateway.event(bomb, gzip)).json().error).toBe('decompressed_too_large')
  expect((await gateway.s2s('/s2s/events/bulk', bomb, gzip)).json().error).toBe('body_too_large')
  expect((await gateway.s2s('/s2s/events/bulk', `[${'1,'.repeat(500_000)}1]`)).json()).toMatchObject({
    ...{ error: 'bad_json', field: 'body' },
  })
  const erasure = gzipSync(JSON.stringify({ install_uuid: 'i 1', filler: 'x'.repeat(900_000) }))
  const headers = { ...signedHeaders(gateway.tenant, erasure), ...gzip }
  expect((await gateway.call('/privacy/delete', headers, erasure)).json()).toMatchObject({
    ...{ error: 'invalid_field', field: 'install_uuid' },
  })
})

test('the 501st event ends the parsing of a batch', async () => {
  const { gateway } = await open()
  const body = `{"events":[${'{"event_id":"1"},'.repeat(501)}this is no JSON]}`
  expect((await gateway.event(body)).json()).toMatchObject({ error: 'bad_batch_shape', field: 'events' })
})

test('an app has few bodies waiting for the thread, and a gateway that stops answers those that wait', async () => {
  const { gateway } = await open()
  const flood = Array.from({ length: limits.judge_thread_waiting_max + 3 }, () => gateway.event(hostile, gzip))
  const early = await Promise.race(flood)
  expect([early.statusCode, early.headers['retry-after']]).toEqual([503, '1'])
  await gateway.app.close()
  const answers = await Promise.all(flood)
  for (const { statusCode } of answers) expect([200, 503]).toContain(statusCode)
})
