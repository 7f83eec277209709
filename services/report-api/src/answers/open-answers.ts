import { finished, type Writable } from 'node:stream'
import { CodedError, retrySoon } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'

/**
 * Counts the reports of each key from their request until their client has read the answer: each holds rows in memory,
 * and a client may read as slowly as it likes. Throws `rate_limited` beyond `key_reports_open_max`.
 */
export function countOpenAnswers(onRefused: () => void = () => {}) {
  const openOf = new Map<string, number>()
  const change = (key_id: string, by: 1 | -1) => {
    const open = (openOf.get(key_id) ?? 0) + by
    if (open === 0) openOf.delete(key_id)
    else openOf.set(key_id, open)
  }
  return (key_id: string, answer: Writable): void => {
    if ((openOf.get(key_id) ?? 0) >= limits.key_reports_open_max) {
      onRefused()
      throw new CodedError('rate_limited', { message: 'Too many answers of this key are unread.', headers: retrySoon })
    }
    change(key_id, 1)
    finished(answer, { readable: false }, () => change(key_id, -1))
  }
}
