import type { LogRecord } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { eventWriter } from '@tributary/event-writer/event-writer'
import { appleTransaction, createAppleAuthority } from '@tributary/testing/stores/apple-authority'
import { type Bench, numberArgument, percentile } from '../bench.ts'

const added_us_max = 5
const events_of_record = 20
const rounds = 11

/** Purchases with a receipt, decoded by event-writer in turns with the same text under another name, whose hash nobody makes. */
export const bench: Bench = {
  name: 'receipts-written',
  title: 'receipts-written: what the receipt of an event costs event-writer (--count 20000)',
  async run(args) {
    const records = Math.ceil(numberArgument(args, 'count', 20_000) / events_of_record)
    const writer = eventWriter({ clickhouse: {} as Clickhouse })
    const jws = createAppleAuthority().sign(appleTransaction())
    const [judged, other, plain] = [
      recordOf({ receipt: { store: 'apple', jws } }),
      recordOf({ another: { store: 'apple', jws } }),
      recordOf({ level: 1 }),
    ]
    const usOf = (value: Buffer) => {
      const before = process.cpuUsage()
      for (let n = 0; n < records; n += 1) writer.decode({ ...record, value }, 'events.accepted.v1@bench')
      const { user, system } = process.cpuUsage(before)
      return (user + system) / (records * events_of_record)
    }
    for (const value of [judged, other, plain]) usOf(value)
    const measured = Array.from({ length: rounds }, () => {
      const [of_judged, of_other, of_plain] = [usOf(judged), usOf(other), usOf(plain)]
      return { of_judged, of_other, of_plain, added: of_judged - of_other }
    })
    const middle = (name: keyof (typeof measured)[number]) =>
      Math.round(
        percentile(
          measured.map((one) => one[name]),
          0.5,
        ) * 100,
      ) / 100
    const added = middle('added')
    const row = {
      ...{ rounds, jws_bytes: jws.length, us_with_receipt: middle('of_judged'), us_same_text: middle('of_other') },
      ...{ us_without: middle('of_plain'), us_added: added },
    }
    const aim = {
      what: 'us that a receipt adds to an event',
      aim: `<= ${added_us_max}`,
      measured: added,
      met: added <= added_us_max,
    }
    return { rows: [row], aims: [aim] }
  },
}

const record = {
  topic: 'events.accepted.v1',
  partition: 0,
  offset: 1,
  timestamp_ms: 0,
  key: null,
  headers: {},
} as unknown as LogRecord

function recordOf(props: object): Buffer {
  const events = Array.from({ length: events_of_record }, (_, n) => ({
    ...{
      event_id: `e-${n}`,
      event_name: 'purchase',
      event_ts_ms: Date.UTC(2026, 5, 1),
      revenue: 4.99,
      currency: 'EUR',
    },
    ...{ transaction_id: `t-${n}`, props },
  }))
  const envelope = {
    ...{ v: 1, company_id: 'co_1', app_id: 'app_1', platform: 'ios', source: 'sdk', install_uuid: 'i-1' },
    ...{
      received_at_ms: Date.UTC(2026, 5, 1),
      ip: '',
      user_agent: '',
      sdk: '',
      sdk_platform: '',
      audit_key: '',
      events,
    },
  }
  return Buffer.from(JSON.stringify(envelope))
}
