/** A figure of each day: the sum of a field over the rows of the day; null on days without rows where `absent` is null. */
export function byDay<Row extends { day?: string }>(
  rows: readonly Row[],
  days: readonly string[],
  figureOf: (row: Row) => number | null,
  absent: number | null = 0,
): (number | null)[] {
  const sums = new Map<string, number | null>()
  for (const row of rows) {
    const { day = '' } = row
    const value = figureOf(row)
    sums.set(day, value === null ? (sums.get(day) ?? null) : (sums.get(day) ?? 0) + value)
  }
  return days.map((day) => sums.get(day) ?? absent)
}
