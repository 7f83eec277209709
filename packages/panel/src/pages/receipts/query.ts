import { useQuery } from '@tanstack/react-query'
import { reportQuery } from '../../api/queries.ts'
import { daysOf, windowOf } from '../../api/range.ts'
import { useApp, usePlace } from '../../shell/session.ts'
import { useWords } from '../../shell/words.ts'

export function useReceipts() {
  const { app_id } = useApp()
  const { app } = usePlace()
  const words = useWords()
  const window = windowOf(words)
  const { verdict, reason, store } = words
  const query = { since_ms: window.since_ms, until_ms: window.until_ms, verdict, reason, store }
  return {
    ...{ app_id, query, days: daysOf(window), validOnly: app?.valid_receipts_only === true },
    receipts: useQuery(reportQuery('receipts', app_id, query)),
  }
}
