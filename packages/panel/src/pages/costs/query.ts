import { useQuery } from '@tanstack/react-query'
import { reportQuery } from '../../api/queries.ts'
import { daysOf, windowOf } from '../../api/range.ts'
import { useApp } from '../../shell/session.ts'
import { useWords } from '../../shell/words.ts'

export function useCosts() {
  const { app_id } = useApp()
  const words = useWords()
  const window = windowOf(words)
  const { partner, campaign, ad_group, country } = words
  const query = { since_ms: window.since_ms, until_ms: window.until_ms, partner, campaign, ad_group, country }
  return { app_id, query, days: daysOf(window), costs: useQuery(reportQuery('costs', app_id, query)) }
}
