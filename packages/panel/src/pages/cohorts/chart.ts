import { maturityOf, type Period } from '../../api/maturity.ts'

/** Steps of the colour: each differs from its neighbours. */
const steps = 7

/** The colour of a rate among those of the map; 0 is the palest. */
export const stepOf = (rate: number, most: number): number =>
  rate <= 0 || most <= 0 ? 0 : Math.min(steps - 1, 1 + Math.floor((rate / most) * (steps - 1.001)))

interface Back {
  day: string
  installs: number
}

/** The rate of day `n` over all installs for which it is over; null without any. */
export function overallRate(
  rows: readonly (Back & Record<`d${number}`, number>)[],
  n: number,
  period: Period,
  now_ms: number,
  until_ms: number,
): number | null {
  const over = rows.filter(({ day }) => maturityOf(day, period, n, now_ms, until_ms) === 'mature')
  const installs = over.reduce((sum, row) => sum + row.installs, 0)
  return installs > 0 ? over.reduce((sum, row) => sum + (row[`d${n}`] ?? 0), 0) / installs : null
}
