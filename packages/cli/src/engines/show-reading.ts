import type { Progress } from '@tributary/audited/reading'
import type { RebuiltFromAudit } from '@tributary/audited/rebuild'
import { SingleBar } from 'cli-progress'

/** What a rebuild could not tell from the audit store; absent without any. */
export interface Doubts {
  unknown_reasons?: Record<string, number>
  /** Keys in the bucket, at most `unreadable_max`. */
  unreadable_objects?: string[]
}

const unreadable_max = 20

/** Counts what is read, and shows it on a terminal. */
export function showReading(shown: boolean): { reading: Progress; doubts(): Doubts; end(): void } {
  const format = ' {bar} {percentage}% | {words} | {replayed} events'
  const bar = shown && process.stderr.isTTY ? new SingleBar({ format, stream: process.stderr, hideCursor: true }) : null
  bar?.start(100, 0, { words: '', replayed: 0 })
  const unknown_reasons = new Map<string, number>()
  const unreadable = new Set<string>()
  const reading: Progress = {
    replayed: 0,
    doubt(reason, count = 1, key = null) {
      if (count > 0) unknown_reasons.set(reason, (unknown_reasons.get(reason) ?? 0) + count)
      if (reason === 'unreadable_object' && key !== null && unreadable.size < unreadable_max) unreadable.add(key)
    },
    reached(done, total, words) {
      const percent = total === 0 ? 100 : Math.floor((done * 100) / total)
      bar?.update(percent, { words, replayed: reading.replayed })
    },
  }
  const doubts = (): Doubts => ({
    ...(unknown_reasons.size > 0 && { unknown_reasons: Object.fromEntries(unknown_reasons) }),
    ...(unreadable.size > 0 && { unreadable_objects: [...unreadable] }),
  })
  return { reading, doubts, end: () => bar?.stop() }
}

export function describeRebuilt(
  { tables, swapped }: RebuiltFromAudit,
  { unknown_reasons = {}, unreadable_objects = [] }: Doubts,
): string {
  const differing = tables.filter(({ differs }) => differs)
  const reasons = Object.entries(unknown_reasons).map(([reason, count]) => `  ${reason}  ${count}`)
  const lines = differing.map(({ name, rows }) => `${name}  differs from its ${rows} rows by the audit store`)
  const end = swapped ? 'The tables are those of the audit store now.' : 'No table was changed.'
  const agree = differing.length === 0 ? ['The tables agree with the audit store.'] : []
  return [...agree, ...lines, end, ...reasons, ...unreadable_objects.map((key) => `    ${key}`)].join('\n')
}
