import { decodeEnvelope } from '@tributary/contracts/decode-envelope'
import { isErased } from '@tributary/domain/erasure/is-erased'
import type { Tombstones } from '@tributary/domain/erasure/tombstones'
import type { DecodedRecord } from '@tributary/service-kit/consumer/define-consumer'
import type { EventLine } from '../write/event-line.ts'

/** The name of an install among those of all apps. */
export const installOf = ({ app_id, install_uuid }: Pick<EventLine, 'app_id' | 'install_uuid'>): string =>
  `${app_id}/${install_uuid}`

/** The events of a batch that no erasure covers. */
interface Kept {
  /** Rows in the order of the records. */
  rows: EventLine[]
  /** Marks of the installs that were erased, by `installOf`. */
  marks: Map<string, number>
  /** Audit keys of records that lost events, by app. */
  objects: Map<string, Set<string>>
  dropped: number
}

/**
 * Leaves out what was erased (docs/rules.md#erased-installs). A record has one install, so it costs one look-up.
 * Nothing is hashed for an app without erasures.
 */
export function dropErased(records: readonly DecodedRecord<EventLine[]>[], tombstones: Tombstones): Kept {
  const kept: Kept = { rows: [], marks: new Map(), objects: new Map(), dropped: 0 }
  for (const { record, value: lines } of records) {
    const first = lines[0]
    const mark_ms = first === undefined ? null : tombstones.markOf(first.app_id, first.install_uuid)
    if (first === undefined || mark_ms === null) {
      for (const line of lines) kept.rows.push(line)
      continue
    }
    kept.marks.set(installOf(first), mark_ms)
    const left = lines.filter((line) => !isErased({ ...line, event_ts_ms: line.dated_at_ms }, mark_ms))
    for (const line of left) kept.rows.push(line)
    if (left.length === lines.length) continue
    kept.dropped += lines.length - left.length
    const keys = kept.objects.get(first.app_id) ?? new Set()
    kept.objects.set(first.app_id, keys.add(decodeEnvelope(record.value).audit_key))
  }
  return kept
}
