import { textLiteral } from './literals.ts'

/** Settings of a statement, by name. */
type Settings = Readonly<Record<string, string | number>>

/** Settings as the text right of `SETTINGS`. Their names come from the code. */
export const settingsSql = (settings: Settings): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name} = ${typeof value === 'string' ? textLiteral(value) : value}`)
    .join(', ')

/**
 * Settings of a statement that may take `memory_bytes_max` of memory. A third stays in memory and the rest goes to the disk,
 * because merging from the disk takes memory too: a block of each file of a sort. The engine keeps what it sorts in memory while the ratio
 * of a sort is set, whatever the bytes are; groups and joins go to the disk by whichever is less.
 */
export function memorySettings(memory_bytes_max: number) {
  const spilled_bytes_min = Math.floor(memory_bytes_max / 3)
  return {
    max_memory_usage: memory_bytes_max,
    max_bytes_before_external_group_by: spilled_bytes_min,
    max_bytes_before_external_sort: spilled_bytes_min,
    max_bytes_ratio_before_external_sort: 0,
    prefer_external_sort_block_bytes: Math.floor(memory_bytes_max / 200),
    max_bytes_before_external_join: spilled_bytes_min,
  }
}

/**
 * Settings of every query, on both engines. 64-bit integers are JSON numbers: a statement casts to text what may pass 2^53. The engine uses
 * no statistics of columns, because they cost it memory for each key of a set
 * (docs/decisions/reports.md#statements-use-no-statistics-of-columns).
 */
export const querySettings = { output_format_json_quote_64bit_integers: 0, use_statistics: 0 } as const
