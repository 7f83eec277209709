import type { ReportRow } from '@tributary/contracts/reports'

type Row = ReportRow<'receipts'>
type Figures = Pick<Row, 'events' | 'revenue_told_usd' | 'revenue_counted_usd'>

/** What rows of a verdict and reason have together, of any store and day. */
export type Judged = Pick<Row, 'verdict' | 'reason'> & Figures

export interface Sums extends Figures {
  verdicts: Record<Row['verdict'], number>
}

const add = (rows: readonly Row[], figure: keyof Figures): number => rows.reduce((sum, row) => sum + row[figure], 0)
const figuresOf = (rows: readonly Row[]): Figures => ({
  events: add(rows, 'events'),
  revenue_told_usd: add(rows, 'revenue_told_usd'),
  revenue_counted_usd: add(rows, 'revenue_counted_usd'),
})

/** The figures of all rows, and the events of each verdict. */
export function sumOf(rows: readonly Row[]): Sums {
  const eventsOf = (verdict: Row['verdict']) =>
    add(
      rows.filter((row) => row.verdict === verdict),
      'events',
    )
  return {
    ...figuresOf(rows),
    verdicts: {
      valid: eventsOf('valid'),
      invalid: eventsOf('invalid'),
      unverified: eventsOf('unverified'),
      sandbox: eventsOf('sandbox'),
    },
  }
}

/** By verdict and reason, the most events first. */
export const judgedOf = (rows: readonly Row[]): Judged[] =>
  [...Map.groupBy(rows, ({ verdict, reason }) => `${verdict} ${reason}`).values()]
    .map((own): Judged => {
      const { verdict, reason } = own[0]!
      return { verdict, reason, ...figuresOf(own) }
    })
    .toSorted((a, b) => b.events - a.events)
