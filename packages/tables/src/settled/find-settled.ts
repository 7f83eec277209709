import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { addDays, daysBetween } from './days.ts'
import { type FigureName, figureOf } from './figures.ts'
import { type CohortName, type CohortPair, cohortFigures } from './sql/cohorts.ts'

type Statements = Pick<Clickhouse, 'query'>

/** Whole UTC days of an app, `YYYY-MM-DD`. */
export interface DayRange {
  app_id: string
  from: string
  /** Exclusive. */
  to: string
}

/** The days of a range, each in one of the lists, both ascending. */
export interface SettledDays {
  /** Days whose settled row, or a newer one, counts everything that is visible now. */
  settled_days: string[]
  /** Days that must be worked out now. Days without data are among them. */
  live_days: string[]
}

/** Pairs of a range of install days, each in one of the lists. */
export interface SettledCohorts {
  settled: CohortPair[]
  live: CohortPair[]
}

type Range = Omit<DayRange, 'app_id'>
interface CohortRange extends Range {
  name: CohortName
  /** Days since the install. */
  numbers: readonly number[]
}

/**
 * Which days of a range are settled: those whose settled row has the stamp of now. Call it before the statement that reads
 * the figures.
 */
export async function findSettled(
  clickhouse: Statements,
  name: FigureName,
  { app_id, ...range }: DayRange,
): Promise<SettledDays> {
  const { figures } = await findAllSettled(clickhouse, app_id, { figures: { [name]: range } })
  return figures(name)
}

/**
 * Which pairs of a day of install and a number of days are settled. A settled pair has a row also when no
 * install was retained. Call it before the statement that reads the figures.
 */
export async function findSettledCohorts(
  clickhouse: Statements,
  name: CohortName,
  { app_id, ...range }: DayRange & { numbers: readonly number[] },
): Promise<SettledCohorts> {
  return (await findAllSettled(clickhouse, app_id, { figures: {}, cohorts: { name, ...range } })).cohorts
}

/** Figures, each with days of its own, and cohorts, of which `findAllSettled` finds what is settled. */
export interface AskedSettled {
  figures: Partial<Record<FigureName, Range>>
  cohorts?: CohortRange | undefined
}

/**
 * What is settled of several figures and of cohorts, by one statement. Call it before the statement that reads the figures. A figure
 * that was not asked for has no days, neither settled nor live.
 */
export async function findAllSettled(clickhouse: Statements, app_id: string, { figures, cohorts }: AskedSettled) {
  const ranges = Object.entries(figures) as [FigureName, Range][]
  const stampOf = await readStamps(clickhouse, app_id, ranges, cohorts)
  const days = new Map(
    ranges.map(([name, { from, to }]) => {
      const { source } = figureOf(name)
      const isSettled = (day: string) =>
        stampOf(source, day) > 0 && stampOf(source, day) === stampOf(settledOf(name), day)
      const { settled = [], live = [] } = Object.groupBy(daysBetween(from, to), (day) =>
        isSettled(day) ? 'settled' : 'live',
      )
      return [name, { settled_days: settled, live_days: live }]
    }),
  )
  const found: SettledCohorts = { settled: [], live: [] }
  for (const day of cohorts === undefined ? [] : daysBetween(cohorts.from, cohorts.to)) {
    const { name, numbers } = cohorts!
    const installs = stampOf(cohortFigures[name].source, day)
    for (const n of numbers) {
      const present = installs + stampOf('activity', addDays(day, n)) + stampOf('activity', addDays(day, n + 1))
      const is_settled = present > 0 && stampOf(settledOf(name), day, n) === present
      found[is_settled ? 'settled' : 'live'].push({ day, n })
    }
  }
  return {
    figures: (name: FigureName): SettledDays => days.get(name) ?? { settled_days: [], live_days: [] },
    cohorts: found,
  }
}

const settledOf = (name: FigureName | CohortName) => `settled ${name}`
/** A row that leaves events out is not the whole day, whatever its stamp. */
const wholeStamp = (name: FigureName) => (figureOf(name).grows ? 'maxIf(t.stamp, t.left_out = 0)' : 'max(t.stamp)')

/** The stamps of days, by source, and those of settled rows, by `settledOf`; 0 where there is none. */
async function readStamps(
  clickhouse: Statements,
  app_id: string,
  figures: readonly (readonly [FigureName, Range])[],
  cohorts: CohortRange | undefined,
) {
  const ranges = [...figures.map(([, range]) => range), ...(cohorts === undefined ? [] : [cohorts])]
  if (ranges.every(({ from, to }) => from >= to)) return () => 0
  const sources = figures.map(([name]) => figureOf(name).source)
  if (cohorts !== undefined) sources.push(cohortFigures[cohorts.name].source, 'activity')
  const inDays = ({ from, to }: Range) =>
    `app_id = {app_id:String} AND t.day >= ${textLiteral(from)} AND t.day < ${textLiteral(to)}`
  const begins = ranges.map(({ from }) => from).toSorted()
  const ends = ranges.map(({ to }) => to).toSorted()
  // A pair counts the activity of `n` and of `n + 1` days after its day of install.
  const stamped = { from: begins[0]!, to: addDays(ends.at(-1)!, Math.max(0, ...(cohorts?.numbers ?? [])) + 1) }
  const rows = await clickhouse.query<{ kind: string; day: string; n: number; stamp: number }>(
    [
      `SELECT toString(source) AS kind, toString(t.day) AS day, toUInt16(0) AS n, sum(rows) AS stamp FROM report_stamps_v1 AS t
       WHERE ${inDays(stamped)} AND source IN (${textLiterals([...new Set(sources)])}) GROUP BY source, t.day`,
      ...figures.map(
        ([name, range]) => `
       SELECT ${textLiteral(settledOf(name))} AS kind, toString(t.day) AS day, toUInt16(0) AS n, ${wholeStamp(name)} AS stamp FROM ${figureOf(name).table} AS t
       WHERE ${inDays(range)} GROUP BY t.day`,
      ),
      ...(cohorts === undefined
        ? []
        : [
            `
       SELECT ${textLiteral(settledOf(cohorts.name))} AS kind, toString(t.day) AS day, n, max(t.stamp) AS stamp FROM ${cohortFigures[cohorts.name].table} AS t
       WHERE ${inDays(cohorts)} AND n IN {numbers:Array(UInt16)} GROUP BY t.day, n`,
          ]),
    ].join(' UNION ALL'),
    { app_id, ...(cohorts && { numbers: cohorts.numbers }) },
  )
  const stamps = new Map(rows.map(({ kind, day, n, stamp }) => [`${kind}/${day}/${n}`, stamp]))
  return (kind: string, day: string, n = 0) => stamps.get(`${kind}/${day}/${n}`) ?? 0
}
