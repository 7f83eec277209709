import { methods, organic } from '@tributary/contracts/attribution/verdict'
import { reportDimensions } from '@tributary/contracts/report-parameters'
import { columnsOf, filtersOf, isGrouped, type ReportName, reports } from '@tributary/contracts/reports'
import fc from 'fast-check'
import { type History, midnight } from './history.ts'
import type { Question } from './question.ts'
import { first_ms, now_ms } from './random-history.ts'

const edge = fc.record({
  pick: fc.nat(99),
  ms: fc.constantFrom(0, 0, 1, -1),
  midnight: fc.constantFrom(false, false, true),
})

/** Finds a window in a history: it begins and ends at, or beside, what happened or its midnights. It may hold nothing. */
const randomWindow = fc.tuple(edge, edge).map((edges) => ({ events, decisions }: History) => {
  const times = [
    ...decisions.map(({ installed_at_ms }) => installed_at_ms),
    ...events.map(({ event_ts_ms }) => event_ts_ms),
    ...[first_ms, now_ms],
  ]
  const [a = 0, b = 0] = edges.map((one) => {
    const time = times[one.pick % times.length]!
    return (one.midnight ? midnight(time, 0) : time) + one.ms
  })
  return { since_ms: Math.min(a, b), until_ms: Math.max(a, b) + (a === b ? 1 : 0) }
})

/** Few of the filters of one question, since each leaves rows out. */
const rarely = <Value>(...values: Value[]) =>
  fc
    .option(fc.subarray(values, { minLength: 1 }), { freq: 1, nil: null })
    .chain((one) => fc.constantFrom(null, null, one))
const some = <Value>(...values: Value[]) => fc.option(fc.subarray(values, { minLength: 1, maxLength: 2 }), { freq: 1 })

/** Asks a report of a history about a random window; what the report cannot be asked is left out. */
export const randomQuestion: fc.Arbitrary<(history: History, name: ReportName) => Question> = fc
  .record({
    window: randomWindow,
    group: fc.constantFrom('day' as const, 'week' as const, 'month' as const, 'none' as const),
    days: fc.option(fc.uniqueArray(fc.constantFrom(0, 1, 2, 3, 7, 8, 14, 30, 31, 365), { minLength: 1, maxLength: 4 })),
    by: fc.option(
      fc.oneof(
        fc.shuffledSubarray([...reportDimensions], { maxLength: 5 }),
        // What is settled.
        fc.shuffledSubarray(['partner' as const, 'campaign' as const, 'country' as const]),
      ),
    ),
    sort: fc.option(fc.tuple(fc.nat(30), fc.constantFrom('', '-'))),
    partner: some(organic, 'acme', 'acme_2', 'nobody'),
    attribution_type: some(organic, ...methods),
    campaign: rarely('', 'spring', 'ü', '*'),
    ad_group: rarely('', 'g'),
    creative: rarely('', 'c'),
    link_id: rarely('l1', ''),
    sub1: rarely('', 's'),
    country: rarely('', 'DE', '*'),
    event_name: some('purchase', 'app_open', 'subscription_refunded', 'gift'),
  })
  .map(({ window, group, days, by, sort, ...filters }) => (history, name) => {
    const form = {
      group: group === 'none' && !isGrouped(name) ? 'day' : group,
      ...('days' in reports[name] && days !== null && { days }),
      ...(isGrouped(name) && by !== null && { by }),
    }
    const fields = columnsOf(name, form)
    return {
      ...{ ...window(history), ...form },
      ...(isGrouped(name) && sort !== null && { sort: `${sort[1]}${fields[sort[0] % fields.length]}` }),
      ...Object.fromEntries(
        Object.entries(filters).filter(([field, values]) => values !== null && field in filtersOf(name)),
      ),
    }
  })
