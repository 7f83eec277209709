import { sdkEvent } from '@tributary/testing/builders'
import { expect, onTestFinished, test } from 'vitest'
import { openGateway } from './gateway.ts'

/** Of the packaged tables. */
const german = '193.99.144.80'
const american = '9.9.9.9'
const japanese = '133.11.0.1'

async function open(http: Parameters<typeof openGateway>[1] = { trusted_proxies: ['127.0.0.1'] }) {
  const gateway = await openGateway({}, http)
  onTestFinished(() => gateway.app.close())
  const event = (change: object) => sdkEvent({ event_ts_ms: gateway.now_ms, ...change })
  const backend = (install_uuid: string, ip: unknown) => event({ install_uuid, device: { ip } })
  const countries = () => gateway.envelopes().map(({ install_uuid, country }) => [install_uuid, country])
  const audited = (): { country?: string; countries?: object }[] =>
    [...gateway.audit.objects.values()].map((object) => JSON.parse(object.toString()))
  return { gateway, event, backend, countries, audited }
}

test.each([
  ['an IPv4 address', german, 'DE'],
  ['an IPv6 address', '2a02:2e0:3fe:1001:302::', 'DE'],
  ['IPv4 written as IPv6', `::ffff:${german}`, 'DE'],
  ['the last address that no proxy of ours wrote', `${japanese}, ${american}`, 'US'],
  ['a private address', '192.168.1.7', ''],
  ['an address of no country', 'fd00::1', ''],
])('the events of an app have the country of its sender: %s', async (_what, forwarded, country) => {
  const { gateway, event } = await open()
  const events = [
    event({ install_uuid: 'i-1', device: { ip: japanese } }),
    event({ install_uuid: 'i-2', country: 'XX' }),
  ]
  await gateway.event(JSON.stringify({ events }), { 'x-forwarded-for': forwarded })
  expect(gateway.envelopes().map((one) => one.country)).toEqual([country, country])
  expect(gateway.auditLines().map((line) => JSON.parse(line).country ?? '')).toEqual([country])
})

test('a sender that is no proxy of ours names no country', async () => {
  const { gateway, event } = await open({})
  await gateway.event(JSON.stringify({ events: [event({})] }), { 'x-forwarded-for': german })
  expect(gateway.envelopes().map((one) => one.country)).toEqual([''])
})

test.each([
  [german, 'DE'],
  ['2a02:2e0:3fe:1001:302::', 'DE'],
  [`::ffff:${american}`, 'US'],
  ['10.0.0.1', ''],
  ['nowhere', ''],
  [17, ''],
  [undefined, ''],
])('an event of a backend has the country of its device.ip, never of the backend: %s is %j', async (ip, country) => {
  const { gateway, backend, countries, audited } = await open()
  await gateway.s2s('/s2s/event', backend('i-1', ip), { 'x-forwarded-for': japanese })
  expect(countries()).toEqual([['i-1', country]])
  expect(audited().map((object) => object.country ?? '')).toEqual([country])
})

test('each event of a bulk request has the country of its own device.ip, in the order of the request', async () => {
  const { gateway, event, backend, audited } = await open()
  const events = [
    ...[backend('i-1', german), backend('i-2', american), backend('i-1', german), backend('i-1', japanese)],
    ...[event({ install_uuid: 'i-1' }), backend('i-1', german)],
  ]
  await gateway.s2s('/s2s/events/bulk', { events }, { 'x-forwarded-for': japanese })
  const sent = gateway.envelopes().flatMap(({ install_uuid, country, ...one }) =>
    one.events.map(({ event_id }) => ({
      at: events.findIndex((own) => own.event_id === event_id),
      install_uuid,
      country,
    })),
  )
  expect(sent.filter(({ install_uuid }) => install_uuid === 'i-1')).toEqual([
    { at: 0, install_uuid: 'i-1', country: 'DE' },
    { at: 2, install_uuid: 'i-1', country: 'DE' },
    { at: 3, install_uuid: 'i-1', country: 'JP' },
    { at: 4, install_uuid: 'i-1', country: '' },
    { at: 5, install_uuid: 'i-1', country: 'DE' },
  ])
  expect(sent.filter(({ install_uuid }) => install_uuid === 'i-2')).toEqual([
    { at: 1, install_uuid: 'i-2', country: 'US' },
  ])
  expect(audited().map((object) => object.countries)).toEqual([{ 0: 'DE', 1: 'US', 2: 'DE', 3: 'JP', 5: 'DE' }])
})

test('a body that is judged in a thread has the same countries', async () => {
  const { gateway, backend, countries } = await open()
  const filler = { props: { filler: 'x'.repeat(16_000) } }
  const events = Array.from({ length: 20 }, () => ({ ...backend('i-1', german), ...filler }))
  const answer = await gateway.s2s('/s2s/events/bulk', { events })
  expect(answer.json()).toMatchObject({ accepted: 20 })
  const apart = await gateway.registry.getSingleMetric('tributary_ingest_bodies_judged_apart_total')!.get()
  expect(apart.values[0]!.value).toBe(1)
  expect(countries()).toEqual([['i-1', 'DE']])
})
