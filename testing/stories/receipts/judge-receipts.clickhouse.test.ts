import type { AppleKey, ServiceAccount } from '@tributary/contracts/receipt/store-credentials'
import type { Ask } from '@tributary/stores/ask'
import { changeApp } from '@tributary/tenancy/companies/apps'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { appleTransaction, createAppleAuthority } from '@tributary/testing/stores/apple-authority'
import { openFakeStores } from '@tributary/testing/stores/fake-stores'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { authority, bundle_id, receiptStage, t0 } from './receipt-stage.ts'

let clickhouse: TestClickhouse
let postgres: TestPostgres
let keys: { apple: AppleKey; google: ServiceAccount }
beforeAll(async () => {
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
  const { apple, google, close } = await openFakeStores()
  keys = { apple, google }
  await close()
})
afterAll(() => Promise.all([clickhouse.close(), postgres.close()]))

const day_ms = 86_400_000
const hour_ms = 3_600_000
const stranger = createAppleAuthority()
const transactionOf = (id: string, more: object = {}) =>
  appleTransaction({ transactionId: id, originalTransactionId: id, ...more })
const signed = (id: string, more: object = {}) => ({ store: 'apple', jws: authority.sign(transactionOf(id, more)) })
/** Apple has to be asked about it. */
const legacy = (id: string) => ({ store: 'apple', app_receipt: authority.appReceipt([id]) })
const token = { store: 'google', purchase_token: 'abc.AO-J1Ox', product_id: 'coins_100' }
const sale = (event_id: string, receipt: unknown, more: object = {}) => ({
  ...{ event_id, event_name: 'purchase', event_ts_ms: t0, revenue: 5, props: { receipt } },
  ...more,
})

/** An app whose store answers by `answer`, or is away when that gives null. */
async function open(answer: (id: string) => unknown, platform: 'ios' | 'android' = 'ios', has_credentials = true) {
  const asked: string[] = []
  const ask: Ask = async (url) => {
    if (url.endsWith('/token'))
      return { status: 200, text: '{"access_token":"t","expires_in":3600,"token_type":"Bearer"}' }
    const id = url.slice(url.lastIndexOf('/') + 1)
    asked.push(id)
    const said = answer(id)
    return said === null ? { status: 503, text: '' } : { status: 200, text: JSON.stringify(said) }
  }
  const credentials = platform === 'ios' ? { apple: keys.apple } : { google: keys.google }
  const stage = await receiptStage({
    ...{ clickhouse, postgres, ask, url: 'https://store.example', platform },
    ...(has_credentials && { credentials }),
  })
  return {
    stage,
    credentials,
    /** Requests about purchases since the last look. */
    requests: () => asked.splice(0).length,
    verdicts: async () =>
      (await stage.verdicts()).map(({ event_id, verdict, reason }) =>
        [event_id, verdict, reason].filter((one) => one !== '').join(' '),
      ),
    /** Has what waits asked again, after all rests. */
    async later() {
      stage.rest(120_000)
      await stage.wake()
      await stage.run()
    },
  }
}
const says =
  (signer = authority) =>
  (id: string) => ({ signedTransactionInfo: signer.sign(transactionOf(id)) })

test('what no store could ever confirm is invalid, and counts nothing', async () => {
  const { stage, verdicts, requests } = await open(says())
  await stage.send('i-1', 'sdk', [
    sale('1', token),
    sale('2', { ...token, purchase_token: 'a'.repeat(2049) }),
    sale('3', 'receipt_too_large'),
    sale('4', { store: 'apple', app_receipt: 'bm9uZQ==' }),
    sale('5', { store: 'apple', jws: stranger.sign(transactionOf('105')) }),
    sale('6', signed('106', { bundleId: 'com.example.other' })),
    sale('7', signed('107'), { transaction_id: '108' }),
    sale('8', signed('108', { environment: 'Sandbox' })),
  ])
  await stage.run()
  expect(await verdicts()).toEqual([
    '1 invalid wrong_bundle',
    '2 invalid malformed',
    '3 invalid receipt_too_large',
    '4 invalid malformed',
    '5 invalid untrusted_chain',
    '6 invalid wrong_bundle',
    '7 invalid wrong_transaction',
    '8 sandbox',
  ])
  expect(await stage.counted()).toEqual([])
  expect([requests(), await stage.due()]).toEqual([0, []])
})

test('a member of the family of the buyer pays nothing', async () => {
  const { stage, verdicts } = await open(says())
  await stage.send('i-1', 'sdk', [sale('1', signed('101', { inAppOwnershipType: 'FAMILY_SHARED' }))])
  await stage.run()
  expect(await verdicts()).toEqual(['1 valid'])
  expect((await stage.counted()).map(({ amount, currency }) => [amount, currency])).toEqual([[0, 'USD']])
})

test('a refunded receipt on several installs is one charge and one refund, on the day of the refund', async () => {
  const { stage } = await open(says())
  const receipt = signed('101', { revocationDate: t0 + 2 * day_ms })
  for (const install of ['i-2', 'i-1', 'i-3']) {
    for (const event_name of ['purchase', 'coins']) {
      await stage.send(install, 'sdk', [sale(event_name, receipt, { event_name })])
      stage.advance(1000)
    }
  }
  stage.advance(3 * day_ms)
  await stage.run()
  const money = async () => (await stage.counted()).map((one) => [one.install_uuid, one.event_name, one.amount])
  const expected = [
    ['i-2', 'purchase', 4.99],
    ['i-2', 'purchase_refunded', -4.99],
  ]
  expect(await money()).toEqual(expected)
  const refunds = () =>
    stage
      .envelopes()
      .flatMap(({ source, events }) => (source === 'store' ? events : []))
      .map(({ event_id, event_ts_ms, transaction_id }) => [event_id, event_ts_ms, transaction_id])
  expect(refunds()).toEqual([['refund-101', t0 + 2 * day_ms, '101']])
  stage.readAgain()
  await stage.run()
  expect(await money()).toEqual(expected)
  expect(refunds()).toHaveLength(1)
})

test('a refund that a receipt of another install says first is one of the purchase that counts', async () => {
  const { stage, verdicts } = await open(says())
  await stage.send('i-1', 'sdk', [sale('1', signed('101'))])
  await stage.run()
  stage.advance(3 * day_ms)
  const receipt = signed('101', { revocationDate: t0 + 2 * day_ms })
  for (const install of ['i-2', 'i-3']) await stage.send(install, 'sdk', [sale('1', receipt)])
  await stage.run()
  expect(await verdicts()).toEqual(['1 valid', '1 valid refunded', '1 valid refunded', 'refund-101 valid'])
  expect((await stage.counted()).map((one) => [one.install_uuid, one.event_name, one.amount])).toEqual([
    ['i-1', 'purchase', 4.99],
    ['i-1', 'purchase_refunded', -4.99],
  ])
})

describe('while a store is away', () => {
  test('a confirmed verdict stays when the log is read again', async () => {
    let is_away = false
    const { stage, verdicts, requests, later } = await open((id) => (is_away ? null : says()(id)))
    await stage.send('i-1', 'sdk', [sale('1', legacy('101'))])
    await stage.run()
    const counted = await stage.counted()
    expect(counted.map(({ amount }) => amount)).toEqual([4.99])
    is_away = true
    await postgres.pool.query('DELETE FROM store_answers')
    stage.restart()
    stage.readAgain()
    requests()
    await stage.run()
    expect(requests()).toBe(1)
    expect([await verdicts(), await stage.counted()]).toEqual([['1 valid'], counted])
    is_away = false
    await later()
    expect([await verdicts(), await stage.counted(), await stage.due()]).toEqual([['1 valid'], counted, []])
  })

  test('its receipts wait in PostgreSQL, each rest costs one request, and money counts as stated', async () => {
    let is_away = true
    const { stage, verdicts, requests, later } = await open((id) => (is_away ? null : says()(id)))
    const receipts = 30
    for (let n = 0; n < receipts; n += 1) await stage.send('i-1', 'sdk', [sale(`${n + 1}`, legacy(`${n + 200}`))])
    await stage.run()
    expect(requests()).toBeLessThanOrEqual(8)
    for (let n = 0; n < 5; n += 1) {
      await later()
      expect(requests()).toBe(1)
      // Rests, and is not asked at all.
      await stage.wake()
      await stage.run()
      expect(requests()).toBe(0)
    }
    expect(await stage.due()).toHaveLength(receipts)
    expect(new Set((await verdicts()).map((one) => one.replace(/^\d+ /, '')))).toEqual(
      new Set(['unverified store_away']),
    )
    expect((await stage.counted()).map(({ amount }) => amount)).toEqual(Array(receipts).fill(5))
    is_away = false
    while ((await stage.due()).length > 0) await later()
    expect(requests()).toBe(receipts)
    expect((await stage.counted()).map(({ amount }) => amount)).toEqual(Array(receipts).fill(4.99))
  })

  test('after 72 hours the last verdict of all that waits is final, though the store rests', async () => {
    const { stage, verdicts, requests } = await open(() => null)
    await stage.send('i-1', 'sdk', [sale('1', legacy('101')), sale('2', legacy('102'))])
    await stage.run()
    requests()
    const age = (ms: number) =>
      stage.pool.query('UPDATE due_receipts SET tried_from_ms = tried_from_ms - $2 WHERE app_id = $1', [
        stage.app_id,
        ms,
      ])
    await age(71 * hour_ms)
    await stage.wake()
    await stage.run()
    expect(await stage.due()).toHaveLength(2)
    await age(hour_ms)
    await stage.wake()
    await stage.run()
    expect([await stage.due(), requests()]).toEqual([[], 0])
    expect(await verdicts()).toEqual(['1 unverified store_away', '2 unverified store_away'])
    expect((await stage.counted()).map(({ amount }) => amount)).toEqual([5, 5])
  })
})

test('an answer that Apple did not sign, or of another transaction, is none: Apple is asked again', async () => {
  const answers = [says(stranger), () => says()('999'), says()]
  const { stage, verdicts, requests, later } = await open((id) => answers.shift()!(id))
  await stage.send('i-1', 'sdk', [sale('1', legacy('101'))])
  await stage.run()
  expect(await verdicts()).toEqual(['1 unverified store_away'])
  await later()
  expect(await verdicts()).toEqual(['1 unverified store_away'])
  await later()
  expect([await verdicts(), requests()]).toEqual([['1 valid'], 3])
})

test('Google is asked about a payment to come until it came, and then no more', async () => {
  let purchaseState = 2
  const { stage, verdicts, requests, later } = await open(() => ({ purchaseState, orderId: 'GPA.1' }), 'android')
  await stage.send('i-1', 'sdk', [sale('1', token), sale('2', signed('101'))])
  await stage.run()
  expect(await verdicts()).toEqual(['1 unverified pending_purchase', '2 invalid wrong_bundle'])
  await later()
  expect(requests()).toBe(2)
  purchaseState = 0
  await later()
  await stage.send('i-1', 'sdk', [sale('3', token)])
  await stage.run()
  expect([await verdicts(), requests()]).toEqual([['1 valid', '2 invalid wrong_bundle', '3 valid'], 1])
})

describe('credentials that are set while receipts wait', () => {
  test('have them judged at once', async () => {
    const { stage, verdicts, credentials } = await open(says(), 'ios', false)
    await stage.send('i-1', 'sdk', [sale('1', legacy('101'))])
    await stage.run()
    expect(await verdicts()).toEqual(['1 unverified no_credentials'])
    const [wait_ms] = await stage.due()
    expect(wait_ms).toBeGreaterThan(30_000)
    await stage.setCredentials(credentials)
    await stage.run()
    expect(await verdicts()).toEqual(['1 valid'])
  })

  test('have those judged again that were just judged without', async () => {
    const { stage, verdicts, credentials } = await open(says(), 'ios', false)
    await stage.send('i-1', 'sdk', [sale('1', legacy('101'))])
    const readers = [await stage.startWriter(), await stage.startFinder()]
    await stage.untilRead()
    for (const one of readers) await one.close()
    let are_set = false
    await stage.judge({
      clickhouse: {
        ...clickhouse,
        async command(...args) {
          if (!are_set) await stage.setCredentials(credentials)
          are_set = true
          return clickhouse.command(...args)
        },
      },
    })
    expect(await verdicts()).toEqual(['1 valid'])
  })
})

test('receipts that wait for the bundle id of their app are judged at once when it is set', async () => {
  const { stage, verdicts } = await open(says())
  await stage.pool.query('UPDATE apps SET bundle_id = NULL WHERE app_id = $1', [stage.app_id])
  await stage.send('i-1', 'sdk', [sale('1', signed('101'))])
  await stage.run()
  expect(await verdicts()).toEqual(['1 unverified no_credentials'])
  await changeApp(stage.pool, stage.app_id, { bundle_id }, { actor: 'test', request_id: 'r', now_ms: stage.now() })
  await stage.run()
  expect([await verdicts(), await stage.due()]).toEqual([['1 valid'], []])
})
