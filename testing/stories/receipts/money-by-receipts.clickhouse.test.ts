import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { roundsOf } from '@tributary/testing/rounds'
import { appleTransaction, createAppleAuthority } from '@tributary/testing/stores/apple-authority'
import { openFakeStores } from '@tributary/testing/stores/fake-stores'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { authority, type ReceiptStage, receiptStage, t0 } from './receipt-stage.ts'

let clickhouse: TestClickhouse
let postgres: TestPostgres
beforeAll(async () => {
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
})
afterAll(() => Promise.all([clickhouse.close(), postgres.close()]))

const day_ms = 86_400_000
const stranger = createAppleAuthority()
/** What Apple says of each transaction: a price with a rate, one without, none, and one that it took back. */
const transactions = {
  '101': { price: 4990, currency: 'EUR' },
  '102': { price: 120_000, currency: 'JPY' },
  '103': { price: undefined, currency: undefined },
  '104': { price: 2000, currency: 'USD', revocationDate: t0 + 2 * day_ms },
} as const
type Id = keyof typeof transactions
const signed = (id: Id, more: object = {}) =>
  appleTransaction({ transactionId: id, originalTransactionId: id, ...transactions[id], ...more })

const kinds = ['none', 'valid', 'forged', 'sandbox', 'legacy', 'unknown', 'malformed'] as const
const id = fc.constantFrom<Id>('101', '102', '103', '104')
const sent = fc.record({
  do: fc.constant('send' as const),
  install: fc.constantFrom('i-1', 'i-2', 'i-3'),
  source: fc.constantFrom('sdk' as const, 'sdk' as const, 's2s' as const, 'store' as const),
  name: fc.constantFrom('purchase', 'purchase', 'subscribe', 'purchase_refunded'),
  event: fc.constantFrom('1', '2', '3', '4', '5', '6'),
  day: fc.nat(2),
  id,
  stated: fc.constantFrom<'same' | 'other' | 'none'>('same', 'same', 'same', 'none', 'other'),
  kind: fc.constantFrom(...kinds, 'none' as const, 'valid' as const, 'legacy' as const),
  revenue: fc.constantFrom(null, 4.99, 3.5, 1),
  currency: fc.constantFrom('USD', 'JPY'),
  ago_ms: fc.constantFrom(0, 0, 3000),
})
const step = fc.oneof(
  { weight: 8, arbitrary: sent },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('run' as const),
      is_away: fc.boolean(),
      kills: fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('again' as const) }) },
)
type Sent = typeof sent extends fc.Arbitrary<infer One> ? One : never

function receiptOf({ kind, id: of, source }: Sent): unknown {
  if (kind === 'none' || source === 'store') return undefined
  if (kind === 'malformed') return { store: 'apple', jws: 'none' }
  if (kind === 'legacy') return { store: 'apple', app_receipt: authority.appReceipt([of]) }
  if (kind === 'unknown') return { store: 'apple', app_receipt: authority.appReceipt(['109']) }
  const transaction = signed(of, kind === 'sandbox' ? { environment: 'Sandbox' } : {})
  return { store: 'apple', jws: (kind === 'forged' ? stranger : authority).sign(transaction) }
}

/** An event of the log as the loops see it. */
interface Entry {
  install: string
  event_id: string
  name: string
  source: string
  received_ms: number
  day: number
  stated: string | null
  money: { micros: number; currency: string } | null
  /** The transaction of its receipt; null without one. */
  receipt: { kind: Sent['kind']; id: Id } | null
  place: number
}
type Verdict = 'valid' | 'invalid' | 'sandbox' | 'unverified'

const isRefund = (name: string) => name.endsWith('_refunded')

/** What the store says of an event, by loops; null for one without a receipt. */
function verdictOf(entry: Entry, answered: ReadonlySet<string>): Verdict | null {
  if (entry.source === 'store') return 'valid'
  return entry.receipt === null ? null : judged(entry, answered)
}
function judged({ receipt, stated }: Entry, answered: ReadonlySet<string>): Verdict {
  const { kind, id: of } = receipt!
  if (kind === 'malformed' || kind === 'forged') return 'invalid'
  const own = kind === 'unknown' ? '109' : of
  if (stated !== null && stated !== own) return 'invalid'
  if (kind === 'sandbox') return 'sandbox'
  if (kind === 'valid') return 'valid'
  if (!answered.has(own)) return 'unverified'
  return kind === 'unknown' ? 'invalid' : 'valid'
}

interface Counted {
  entry: Entry
  micros: number
  currency: string
}

/** The money that counts, by loops over all events and their verdicts. */
function countByLoops(stored: readonly Entry[], answered: ReadonlySet<string>): Counted[] {
  const claims = stored.flatMap((entry) => {
    if (entry.money === null) return []
    const verdict = verdictOf(entry, answered)
    if (verdict === 'invalid' || verdict === 'sandbox') return []
    const of_store = entry.receipt === null ? entry.stated : entry.receipt.id
    const claimed = verdict === 'valid' ? of_store : entry.stated
    const own_rank = entry.source === 'sdk' ? 1 : entry.source === 'store' ? 4 : 2
    const taken_back = entry.receipt?.id === '104'
    const confirmed = verdict === 'valid' && (!isRefund(entry.name) || taken_back)
    const rank = confirmed ? Math.max(own_rank, 3) : own_rank
    const price = verdict === 'valid' && entry.receipt !== null ? transactions[entry.receipt.id] : null
    const has_price = price !== null && price.price !== undefined && price.currency !== 'JPY'
    const sign = isRefund(entry.name) ? -1 : 1
    const money = has_price ? { micros: sign * price.price! * 1000, currency: price.currency! } : entry.money
    return [{ entry, claimed, rank, money }]
  })
  type Claim = (typeof claims)[number]
  const counted: Claim[] = claims.filter(({ claimed }) => claimed === null)
  const best = (of: Claim[]) =>
    of.toSorted(
      (a, b) => b.rank - a.rank || a.entry.received_ms - b.entry.received_ms || a.entry.place - b.entry.place,
    )[0]
  for (const claimed of new Set(claims.flatMap((one) => one.claimed ?? []))) {
    const of = claims.filter((one) => one.claimed === claimed)
    const choose = (some: Claim[]): Claim[] => {
      if (some.some(({ rank }) => rank >= 3)) return [best(some)!]
      return [...new Set(some.map(({ entry }) => entry.name))].map(
        (name) => best(some.filter(({ entry }) => entry.name === name))!,
      )
    }
    const charged = choose(of.filter(({ entry }) => !isRefund(entry.name)))
    const refunds = of.filter(({ entry }) => isRefund(entry.name))
    const refunded = refunds.some(({ rank }) => rank >= 3) && charged.length === 0 ? [] : choose(refunds)
    counted.push(...charged, ...refunded)
  }
  return counted.map(({ entry, money }) => ({ entry, ...money }))
}

/** The events of the log that count, the first of each key. */
function storedOf(stage: ReceiptStage, sentBy: ReadonlyMap<string, Sent>): Entry[] {
  const all = stage.envelopes().flatMap(({ install_uuid, source, received_at_ms, events }, place) =>
    events.map((event): Entry => {
      const props = (event.props ?? {}) as { receipt?: unknown }
      const origin = sentBy.get(JSON.stringify(props.receipt))
      const revenue = event.revenue as number | null | undefined
      return {
        ...{ install: install_uuid, event_id: String(event.event_id), name: String(event.event_name), source, place },
        ...{ received_ms: received_at_ms, day: Math.floor((event.event_ts_ms as number) / day_ms) },
        stated: (event.transaction_id as string | null | undefined) ?? null,
        money:
          typeof revenue === 'number'
            ? {
                micros: Math.round(revenue * 1e6) * (isRefund(String(event.event_name)) ? -1 : 1),
                currency: String(event.currency ?? 'USD'),
              }
            : null,
        receipt: origin === undefined ? null : { kind: origin.kind, id: origin.id },
      }
    }),
  )
  const stored: Entry[] = []
  for (const entry of all) {
    const is_known = stored.some(
      (other) =>
        other.install === entry.install &&
        other.event_id === entry.event_id &&
        // An id of a store is its own.
        (other.source === 'store') === (entry.source === 'store') &&
        Math.abs(other.day - entry.day) <= 1,
    )
    if (!is_known) stored.push(entry)
  }
  return stored
}

const sumsOf = (counted: readonly { day: string; name: string; currency: string; micros: number }[]) => {
  const sums = new Map<string, number>()
  for (const { day, name, currency, micros } of counted) {
    const key = `${day} ${name} ${currency}`
    sums.set(key, (sums.get(key) ?? 0) + micros)
  }
  return Object.fromEntries([...sums].filter(([, micros]) => micros !== 0).toSorted())
}

/** The same of the tables: event by event as reports of money read them, and as the sums of the report of events. */
async function sumsOfTables({ app_id }: ReceiptStage) {
  const moneyKey = 'sipHash64(day, topic, partition, offset, event_key)'
  const columns = 'toString(t.day) AS day, event_name AS name, currency, toInt64(amount_micros) AS micros'
  const of = `t.app_id = '${app_id}'`
  type Row = { day: string; name: string; currency: string; micros: number }
  const single = await clickhouse.query<Row>(
    `SELECT ${columns} FROM revenue_raw_v1 AS t WHERE ${of} AND ${moneyKey.replace('day', 't.day')} NOT IN (
       SELECT ${moneyKey} FROM revenue_cancelled_v1 WHERE app_id = '${app_id}')
     UNION ALL SELECT ${columns} FROM revenue_chosen_v1 AS t FINAL WHERE ${of} AND counts = 1`,
  )
  const summed = await clickhouse.query<Row>(
    `SELECT toString(t.day) AS day, event_name AS name, currency, toInt64(sum(revenue_micros)) AS micros FROM events_per_day_v1 AS t
     WHERE ${of} GROUP BY t.day, name, currency
     UNION ALL SELECT toString(t.day) AS day, event_name AS name, currency, -toInt64(amount_micros) AS micros FROM revenue_cancelled_v1 AS t FINAL WHERE ${of}
     UNION ALL SELECT ${columns} FROM revenue_chosen_v1 AS t FINAL WHERE ${of} AND counts = 1`,
  )
  return [sumsOf(single), sumsOf(summed)]
}

test('over any history of events, receipts, verdicts, outages and kills the money that counts is that of loops', async () => {
  const fake = await openFakeStores()
  let is_away = false
  const answers = { ...fake, answered: new Set<string>() }
  const ask = async (url: string) => {
    if (is_away) return { status: 503, text: '' }
    const asked = url.slice(url.lastIndexOf('/') + 1)
    answers.answered.add(asked)
    return asked in transactions
      ? { status: 200, text: JSON.stringify({ signedTransactionInfo: authority.sign(signed(asked as Id)) }) }
      : { status: 404, text: JSON.stringify({ errorCode: 4040010, errorMessage: 'Transaction id not found.' }) }
  }
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 26 }), async (steps) => {
      is_away = false
      answers.answered = new Set()
      const stage = await receiptStage({
        ...{ clickhouse, postgres, ask, url: 'https://apple.example', credentials: { apple: fake.apple } },
      })
      const sentBy = new Map<string, Sent>()
      const look = async (kills: number[] = []) => {
        stage.restart()
        await stage.wake()
        await stage.run(kills)
        const stored = storedOf(stage, sentBy)
        const expected = sumsOf(
          countByLoops(stored, answers.answered).map(({ entry, micros, currency }) => ({
            ...{ day: new Date(entry.day * day_ms).toISOString().slice(0, 10), name: entry.name, currency, micros },
          })),
        )
        const [single, summed] = await sumsOfTables(stage)
        expect(single).toEqual(expected)
        expect(summed).toEqual(expected)
        const labels = new Map(
          stored.map((one) => [
            `${one.event_id} ${one.day} ${one.install} ${one.source}`,
            verdictOf(one, answers.answered),
          ]),
        )
        for (const { event_id, day, install_uuid, source, verdict } of await stage.verdicts())
          expect(verdict).toBe(labels.get(`${event_id} ${Date.parse(day) / day_ms} ${install_uuid} ${source}`))
        expect((await stage.verdicts()).length).toBe([...labels.values()].filter((one) => one !== null).length)
      }
      for (const one of steps) {
        stage.advance(1000)
        if (one.do === 'run') {
          is_away = one.is_away
          await look(one.kills)
        } else if (one.do === 'again') await stage.readAgain()
        else {
          const receipt = receiptOf(one)
          if (receipt !== undefined) sentBy.set(JSON.stringify(receipt), one)
          const transaction_id = one.stated === 'none' ? null : one.stated === 'other' ? '999' : one.id
          const event = {
            ...{ event_id: one.event, event_name: one.name, event_ts_ms: t0 + one.day * day_ms, transaction_id },
            ...{ revenue: one.revenue, currency: one.currency },
            ...(receipt !== undefined && { props: { receipt, level: 1 } }),
          }
          await stage.send(one.install, one.source, [event], stage.now() - one.ago_ms)
        }
      }
      is_away = false
      await look([2])
      // What a store took back is a refund, as often as it counts.
      const stored = storedOf(stage, sentBy)
      const counted = countByLoops(stored, answers.answered)
      const is_charged = counted.some(({ entry }) => entry.receipt?.id === '104' && !isRefund(entry.name))
      if (is_charged) expect(counted.some(({ entry }) => isRefund(entry.name) && entry.stated === '104')).toBe(true)
    }),
    { numRuns: roundsOf(8), endOnFailure: true },
  )
  await fake.close()
})
