import type { AuditEntry } from '@tributary/contracts/admin/people/audit-log'
import { none } from '../../api/numbers.ts'

/** One field that an entry changed. */
interface Change {
  name: string
  before: string
  after: string
}

const write = (value: unknown): string =>
  value === undefined || value === null ? none : typeof value === 'string' ? value : JSON.stringify(value)

/** What an entry changed, field by field. A field that stayed is left out. */
export function changesOf({ before, after }: Pick<AuditEntry, 'before' | 'after'>): Change[] {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after)])
  return [...names]
    .map((name) => ({ name, before: write(before?.[name]), after: write(after[name]) }))
    .filter((change) => change.before !== change.after)
}
