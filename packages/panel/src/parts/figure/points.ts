import { endOf, type Period } from '../../api/maturity.ts'

/** A line of a chart: its key in each point, and its name, which people may have typed. */
export interface Series {
  key: string
  name: string
  dashed?: boolean
}

export type Point = { day: string } & Record<string, number | string | null>

interface OnDay {
  day: string
}

/** Notes by the point whose period has their day. Those of no point are left out. */
export function notesOf<Note extends OnDay>(
  notes: readonly Note[],
  points: readonly Point[],
  period: Period,
): Map<string, Note[]> {
  const found = new Map<string, Note[]>()
  for (const note of notes) {
    const point = points.findLast(({ day }) => day <= note.day)
    if (point === undefined || Date.parse(note.day) >= endOf(point.day, period)) continue
    found.set(point.day, [...(found.get(point.day) ?? []), note])
  }
  return found
}
