import { useQuery } from '@tanstack/react-query'
import { reportQuery } from '../../api/queries.ts'
import { daysOf, windowOf } from '../../api/range.ts'
import { useApp } from '../../shell/session.ts'
import { useWords } from '../../shell/words.ts'

export function useEvents() {
  const { app_id } = useApp()
  const words = useWords()
  const window = windowOf(words)
  const query = { since_ms: window.since_ms, until_ms: window.until_ms, event_name: words.event_name }
  return { app_id, query, days: daysOf(window), events: useQuery(reportQuery('events', app_id, query)) }
}
