import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral, unsigned } from '@tributary/clickhouse/literals'
import { limits } from '@tributary/contracts/limits'
import { type FigureName, figureOf } from './figures.ts'
import { insertSelect } from './insert-select.ts'
import { activityDays, type CohortName, type CohortPair, cohortFigures, retainedSql } from './sql/cohorts.ts'
import { type DaysOfApp, onDays } from './sql/days-of-app.ts'
import { isCounted } from './sql/grown.ts'

/** A day with its stamp, which was read before any data of the day. */
interface Stamped {
  day: string
  /** Unsigned 64-bit decimal. */
  stamp: string
}
export type StampedPair = Stamped & CohortPair
/** A day of a figure. */
export interface StampedDay extends Stamped {
  /** The part of the stamp that did more than add events. Unsigned 64-bit decimal. */
  other_changes: string
  /** 1: something changed so lately that more may be on its way. */
  is_changing: 0 | 1
}

/**
 * Works a figure out for days of an app, and stores it with the stamps of the days. The caller read the stamps before, so the
 * data behind them is visible here. Repeating it, racing it and killing it do no harm: a row is the whole day only while its stamp
 * equals that of the day.
 */
export async function settleDays(
  clickhouse: Clickhouse,
  name: FigureName,
  app_id: string,
  days: readonly StampedDay[],
): Promise<void> {
  const { table, lists, grows } = figureOf(name)
  const whole = { app_id: textLiteral(app_id), days: setOf(days) }
  const stamp = days.map((one) => one.stamp)
  const { at, noted }: Noted = grows ? await noteMoney(clickhouse, whole, days) : { at: whole, noted: { stamp } }
  const noted_columns = Object.keys(noted)
  const rows = days.map(
    (one, n) => `(${[dayOf(one), ...Object.values(noted).map((values) => unsigned(values[n]!))].join(', ')})`,
  )
  const types = ['Date', ...noted_columns.map(() => 'UInt64')]
  const columns = Object.entries(lists).flatMap(([list, of]) => of.columns.map((column) => `\`${list}.${column}\``))
  const values = Object.entries(lists).flatMap(([list, of]) =>
    of.columns.map((_, index) => `tupleElement(\`${list}\`, ${index + 1})`),
  )
  const joins = Object.entries(lists).map(([list, of]) => listOfDay(list, of, at))
  await insertSelect(
    clickhouse,
    [...Object.values(lists).map(({ liveSql }) => liveSql(at))],
    `INSERT INTO ${table} (${['app_id', 'day', ...noted_columns, ...columns].join(', ')})
SELECT ${[at.app_id, 'date', ...noted_columns, ...values].join(', ')}
FROM (
  SELECT ${['date', ...noted_columns].map((column, n) => `one.${n + 1} AS ${column}`).join(', ')}
  FROM (SELECT arrayJoin(${arrayOf(`Tuple(${types.join(', ')})`, rows)}) AS one)
) AS days
${joins.join('\n')}`,
  )
}

/** `at` says which events rows count; `noted` holds further columns with a value for each day, an unsigned 64-bit decimal. */
interface Noted {
  at: DaysOfApp
  noted: Record<string, readonly string[]>
}

/** A time behind every event: the row of a day that notes none counts all that are there. */
const any_time_ms = `${Number.MAX_SAFE_INTEGER}`

/**
 * Finds which money events the row of each day will count: those up to the last one that is there now. The row of a changing day
 * leaves out events of the last `settle_left_out_ms`, since partitions do not write in the order of receipt, but none that the row before
 * counted: a report may have found that row settled. Its stamp is then lower by 1, so the day is due again. A day notes none while
 * `money_days_v1` lacks one of these events: the look-up of a changed verdict misses the day of that one. A row that counts more events than
 * it notes is right while its stamp is that of the day, and nothing is added to it.
 */
async function noteMoney(
  clickhouse: Pick<Clickhouse, 'query'>,
  whole: DaysOfApp,
  days: readonly StampedDay[],
): Promise<Noted> {
  const key = 'sipHash64(day, install_key)'
  const changing = arrayOf('Date', days.filter(({ is_changing }) => is_changing).map(dayOf))
  const clock_ms = 'toUnixTimestamp64Milli(now64(3))'
  // A clock of a gateway that was far ahead once: all that comes is received before that time.
  const old_ms = `greatest(if(noted_ms > ${clock_ms}, 0, noted_ms), ${clock_ms} - ${limits.settle_left_out_ms})`
  const isCounting = `(NOT has(${changing}, day) OR received_at_ms <= ${old_ms})`
  const found = await clickhouse.query<{ date: string; events: string; last_received_ms: string; left_out: string }>(
    `SELECT toString(day) AS date, toString(countIf(${isCounting})) AS events, toString(maxIf(received_at_ms, ${isCounting})) AS last_received_ms,
       toString(countIf(NOT ${isCounting})) AS left_out
     FROM revenue_raw_v1
     LEFT JOIN (SELECT day, last_received_ms AS noted_ms FROM settled_money_v1 FINAL WHERE ${onDays(whole)}) AS before USING (day)
     WHERE ${onDays(whole)}
     GROUP BY day
     HAVING countIf(${isCounting} AND ${key} NOT IN (SELECT ${key} FROM money_days_v1 WHERE ${onDays(whole)})) = 0`,
  )
  const of_days = new Map(found.map((one) => [one.date, one]))
  const last_received_ms = days.map(({ day }) => of_days.get(day)?.last_received_ms ?? any_time_ms)
  const left_out = days.map(({ day }) => of_days.get(day)?.left_out ?? '0')
  const counted = isCounted({
    days: arrayOf('Date', days.map(dayOf)),
    last_ms: arrayOf('Int64', last_received_ms.map(unsigned)),
  })
  return {
    at: { ...whole, moments: counted },
    noted: {
      stamp: days.map(({ stamp }, n) => (left_out[n] === '0' ? stamp : `${BigInt(stamp) - 1n}`)),
      other_changes: days.map(({ other_changes }) => other_changes),
      events: days.map(({ day }) => of_days.get(day)?.events ?? '0'),
      last_received_ms,
      left_out,
    },
  }
}

type List = ReturnType<typeof figureOf>['lists'][string]

/** The rows of a list as one value for each day. */
const listOfDay = (list: string, { columns, liveSql }: List, at: DaysOfApp): string =>
  `LEFT JOIN (
SELECT date, arraySort(groupArray((${columns.join(', ')}))) AS \`${list}\`
FROM (${liveSql(at)}
)
GROUP BY date) AS of_${list} USING (date)`

/** The same for cohorts: pairs of a day of install and a number of days. */
export async function settleCohorts(
  clickhouse: Clickhouse,
  name: CohortName,
  app_id: string,
  pairs: readonly StampedPair[],
) {
  const days = arrayOf('Date', pairs.map(dayOf))
  const numbers = arrayOf(
    'UInt16',
    pairs.map(({ n }) => Number(n)),
  )
  const stamps = arrayOf(
    'UInt64',
    pairs.map((one) => unsigned(one.stamp)),
  )
  const app = textLiteral(app_id)
  const activity_days = setOf(activityDays(pairs).map((day) => ({ day })))
  const { table, by } = cohortFigures[name]
  const retained = retainedSql({ app_id: app, days, numbers, activity_days }, by)
  const columns = [...by, 'retained']
  const counted =
    by.length === 0
      ? { columns, values: columns, sql: retained }
      : {
          columns: columns.map((column) => `\`countries.${column}\``),
          values: columns.map((_, index) => `tupleElement(countries, ${index + 1})`),
          sql: `SELECT date, n, arraySort(groupArray((${columns.join(', ')}))) AS countries FROM (${retained}
) GROUP BY date, n`,
        }
  await insertSelect(
    clickhouse,
    [retained],
    `INSERT INTO ${table} (${['app_id', 'day', 'n', 'stamp', ...counted.columns].join(', ')})
SELECT ${[app, 'date', 'n', 'stamp', ...counted.values].join(', ')}
FROM (SELECT one.1 AS date, one.2 AS n, one.3 AS stamp FROM (SELECT arrayJoin(arrayZip(${days}, ${numbers}, ${stamps})) AS one)) AS pairs
LEFT JOIN (${counted.sql}
) AS counted USING (date, n)`,
  )
}

const dayOf = ({ day }: { day: string }): string => textLiteral(day)

/** Days right of `IN`. */
const setOf = (days: readonly { day: string }[]): string => `(${days.map(dayOf).join(', ')})`

/** Literals as one array: the engine plans a statement for longer than it runs, and a call for each value would be most of that. */
const arrayOf = (type: string, values: readonly (string | number)[]): string =>
  `CAST([${values.join(', ')}], 'Array(${type})')`
