import { day_ms, limits } from '@tributary/contracts/limits'
import { judgePostback } from '@tributary/domain/postback/judge'
import { utcDay } from '@tributary/domain/utc-day'
import { aakPayload, createAppleTwin, skanFields } from '@tributary/testing/postback/apple-twin'
import { writeJson } from '@tributary/testing/postback/json'
import { expect, it, test } from 'vitest'
import { addressBudgetKey } from '../src/budget.ts'
import { apple, openGateway, skanBody } from './gateway.ts'

type Gateway = Awaited<ReturnType<typeof openGateway>>
const stranger = '192.0.2.1'
const wait = { 'retry-after': `${12 * 3600}` } // until the end of the day of the test's clock

/** Leaves so many bytes of the budget of an address, and of that of all. */
function leave({ keyValue, clock }: Gateway, left: { address?: number; all?: number }) {
  const day = utcDay(clock.now_ms)
  const { address, all } = left
  const key = addressBudgetKey(day, stranger)
  if (address !== undefined) keyValue.totals.set(key, limits.postback_address_day_bytes_max - address)
  if (all !== undefined) keyValue.totals.set(`postback-bytes:${day}`, limits.postbacks_day_bytes_max - all)
}

const signed = (id: string = crypto.randomUUID()) =>
  writeJson(apple.signSkan('4.0', skanFields('4.0', { 'transaction-id': id })))
const bytesOf = (body: string) => Buffer.byteLength(body) + limits.postback_record_bytes

test('an address stores 64 MiB of postbacks a day, and then only what a key proves; others go on', async () => {
  const gateway = await openGateway()
  const [first, second] = [skanBody(), skanBody()]
  leave(gateway, { address: bytesOf(first) })
  expect(await gateway.send(first)).toMatchObject({ status: 200 })
  expect(await gateway.send(second)).toMatchObject({ status: 429, code: 'rate_limited', headers: wait })
  expect(await gateway.send(signed())).toMatchObject({ status: 200 })
  expect(await gateway.send(apple.signAak(aakPayload({})), { path: '/aak-postback' })).toMatchObject({ status: 200 })
  expect(gateway.received()).toHaveLength(3)
  expect(gateway.audited()).toHaveLength(3)
  expect(await gateway.count('tributary_postbacks_refused_total')).toMatchObject([
    { labels: { protocol: 'skan', budget: 'address' }, value: 1 },
  ])
  // Refused bytes are not remembered as seen.
  expect(await gateway.send(second, { ip: '192.0.2.2' })).toMatchObject({ status: 200 })
  expect(gateway.received()).toHaveLength(4)
})

test('all addresses together store 2 GiB a day, and then only what a key proves', async () => {
  const gateway = await openGateway()
  leave(gateway, { all: bytesOf(skanBody()) })
  expect(await gateway.send(skanBody())).toMatchObject({ status: 200 })
  for (const ip of ['192.0.2.2', '2001:db8::1']) {
    expect(await gateway.send(skanBody(), { ip })).toMatchObject({ status: 429, code: 'rate_limited', headers: wait })
    expect(await gateway.send(signed(), { ip })).toMatchObject({ status: 200 })
  }
  expect(await gateway.count('tributary_postbacks_refused_total')).toMatchObject([
    { labels: { budget: 'all' }, value: 2 },
  ])
})

test('an address whose budget is used up takes nothing from the budget of all', async () => {
  const gateway = await openGateway()
  leave(gateway, { address: 0 })
  for (let n = 0; n < 20; n += 1) expect((await gateway.send(skanBody())).status).toBe(429)
  expect(gateway.keyValue.totals.get(`postback-bytes:${utcDay(gateway.clock.now_ms)}`)).toBeUndefined()
})

test('a postback that the budget of all refuses, or lets pass by its proof, takes nothing from its address', async () => {
  const gateway = await openGateway()
  leave(gateway, { address: bytesOf(skanBody()), all: 0 })
  for (let n = 0; n < 5; n += 1) expect((await gateway.send(skanBody())).status).toBe(429)
  expect((await gateway.send(signed())).status).toBe(200)
  leave(gateway, { all: bytesOf(skanBody()) })
  expect((await gateway.send(skanBody())).status).toBe(200)
})

test('a postback that could not be stored takes nothing from a budget', async () => {
  const gateway = await openGateway()
  leave(gateway, { address: bytesOf(skanBody()), all: bytesOf(skanBody()) })
  gateway.log.fault = new Error('away')
  const body = skanBody()
  for (let n = 0; n < 5; n += 1) expect((await gateway.send(body)).status).toBe(503)
  gateway.log.fault = null
  expect((await gateway.send(body)).status).toBe(200)
  expect((await gateway.send(skanBody())).status).toBe(429)
})

test('a genuine postback is taken once the log is back, however often its device sent it meanwhile', async () => {
  const gateway = await openGateway()
  leave(gateway, { address: 0 })
  gateway.log.fault = new Error('away')
  const body = signed()
  for (let n = 0; n < 3 * limits.postback_proven_copies_max; n += 1) expect((await gateway.send(body)).status).toBe(503)
  gateway.log.fault = null
  expect((await gateway.send(body)).status).toBe(200)
  expect(gateway.received()).toHaveLength(1)
})

test('what is counted is body, content type and record, of stored postbacks alone, for the /64 of a client', async () => {
  const gateway = await openGateway()
  const body = skanBody()
  const headers = { 'content-type': 'application/json' }
  for (const ip of ['2001:db8::1', '2001:db8::2']) await gateway.send(body, { ip, headers }) // the same bytes again
  await gateway.send('junk', { ip: '2001:db8::1' })
  const day = utcDay(gateway.clock.now_ms)
  const of_one = Buffer.byteLength(body) + 'application/json'.length + limits.postback_record_bytes
  expect(gateway.keyValue.totals.get(addressBudgetKey(day, '2001:db8:0:0::/64'))).toBe(of_one)
  expect(gateway.keyValue.totals.get(`postback-bytes:${day}`)).toBe(of_one)
})

test('the verdict is that of postback-writer: what is not valid there is refused here', async () => {
  const gateway = await openGateway()
  leave(gateway, { address: 0 })
  const other = createAppleTwin()
  const forged = signed().replace('"fidelity-type":1', '"fidelity-type":0')
  const bodies = [
    forged,
    writeJson(other.signSkan('4.0', skanFields('4.0', {}))),
    skanBody({ version: '9.0' }),
    signed(),
  ]
  for (const body of bodies) {
    const { verdict } = judgePostback({ protocol: 'skan', body }, apple.keys)
    expect((await gateway.send(body)).status).toBe(verdict === 'valid' ? 200 : 429)
  }
  expect(gateway.received()).toHaveLength(1)
})

test('a genuine postback is stored a few times beyond a budget, however its unsigned values are varied', async () => {
  const gateway = await openGateway()
  leave(gateway, { all: 0 })
  const body = signed('t')
  const sent = Array.from({ length: limits.postback_proven_copies_max + 5 }, (_, n) =>
    gateway.send(body.replace('{', `{"x":${n},`)),
  )
  const answers = (await Promise.all(sent)).map(({ status }) => status)
  expect(answers.filter((status) => status === 200)).toHaveLength(limits.postback_proven_copies_max)
  expect(answers.filter((status) => status === 429)).toHaveLength(5)
  expect((await gateway.send(signed('u'))).status).toBe(200)
})

it('is a new budget on the next day, and the old one again when a clock was wrong', async () => {
  const gateway = await openGateway()
  leave(gateway, { address: 0 })
  const isTaken = async () => (await gateway.send(skanBody())).status === 200
  expect(await isTaken()).toBe(false)
  gateway.clock.now_ms += day_ms
  expect(await isTaken()).toBe(true)
  leave(gateway, { address: 0 })
  expect(await isTaken()).toBe(false)
  // Nobody is refused for the length of the jump, whichever way it went.
  for (const jump_ms of [-2 * day_ms, 5 * day_ms, -365 * day_ms]) {
    gateway.clock.now_ms += jump_ms
    expect(await isTaken()).toBe(true)
  }
})

test('strangers make a bounded number of counters, whatever addresses they have', () => {
  const keys = Array.from({ length: 200_000 }, (_, n) =>
    addressBudgetKey('2026-06-01', `2001:db8:${n >> 12}:${n}::/64`),
  )
  expect(new Set(keys).size).toBeLessThanOrEqual(limits.postback_address_counters_max)
  expect(new Set(keys).size).toBeGreaterThan(60_000)
})

test('there is no budget while the counters are away, and nothing is lost', async () => {
  const gateway = await openGateway()
  leave(gateway, { address: 0, all: 0 })
  gateway.keyValue.fault = new Error('away')
  expect((await gateway.send(skanBody())).status).toBe(200)
})
