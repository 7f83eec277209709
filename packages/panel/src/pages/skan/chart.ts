import type { ReportRow } from '@tributary/contracts/reports'

type Row = ReportRow<'skan'>

const sums = [
  ...(['postbacks', 'installs', 'redownloads', 'cv_null', 'coarse_low', 'coarse_medium', 'coarse_high'] as const),
  ...(['revenue_min_usd', 'revenue_max_usd', 'unverified'] as const),
] as const
export type Sums = Record<(typeof sums)[number], number> & {
  /** Whether a schema decodes any of the rows: without one there is no revenue, which is not 0. */
  decoded: boolean
}
export type Source = Sums & { protocol: string; network: string; source: string }

/** The figures of rows together. */
export function sumOf(rows: readonly Row[]): Sums {
  const all = Object.fromEntries(sums.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)]))
  const decoded = rows.some(({ schema_version, revenue_max_usd }) => schema_version !== null || revenue_max_usd > 0)
  return { ...(all as Record<(typeof sums)[number], number>), decoded }
}

/** By protocol, network and source, the most postbacks first. */
export function sourcesOf(rows: readonly Row[]): Source[] {
  const keyOf = ({ protocol, network, source }: Row) => JSON.stringify([protocol, network, source])
  return [...Map.groupBy(rows, keyOf).values()]
    .map((own) => {
      const { protocol = '', network = '', source = '' } = own[0] ?? {}
      return { protocol, network, source, ...sumOf(own) }
    })
    .toSorted((a, b) => b.postbacks - a.postbacks || b.unverified - a.unverified)
}

export interface Bar {
  value: number
  postbacks: number
}

/** Postbacks by fine conversion value, each value up to the highest one that Apple knows. */
export function valuesOf(rows: readonly Row[]): Bar[] {
  const counts = new Map<number, number>()
  for (const { fine } of rows)
    for (const [value, n] of Object.entries(fine)) counts.set(Number(value), (counts.get(Number(value)) ?? 0) + n)
  return Array.from({ length: 64 }, (_, value) => ({ value, postbacks: counts.get(value) ?? 0 }))
}
