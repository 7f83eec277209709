import type { ClickCount } from '@tributary/contracts/admin/rows/clicks'
import { day_ms, type Window } from '../../api/range.ts'
import type { Point } from '../../parts/figure/points.ts'

const lengths = { hour: 3_600_000, day: day_ms }

/** Each period of a window until now: one without clicks is 0, one to come is not there. */
export function clicksByPeriod(
  counts: readonly ClickCount[],
  { since_ms, until_ms }: Window,
  group: 'hour' | 'day',
  now_ms: number,
): Point[] {
  const found = new Map(counts.map((one) => [one.since_ms, one]))
  const periods = Math.ceil((Math.min(until_ms, now_ms) - since_ms) / lengths[group])
  return Array.from({ length: Math.max(0, periods) }, (_, n) => {
    const at_ms = since_ms + n * lengths[group]
    const { clicks = 0, filtered = 0 } = found.get(at_ms) ?? {}
    return { day: new Date(at_ms).toISOString().slice(0, group === 'hour' ? 16 : 10), clicks, filtered }
  })
}
