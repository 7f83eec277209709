import { useQuery } from '@tanstack/react-query'
import { reportQuery } from '../../api/queries.ts'
import { daysOf, windowOf } from '../../api/range.ts'
import { useApp } from '../../shell/session.ts'
import { useWords } from '../../shell/words.ts'

export function useSkan() {
  const { app_id, platform } = useApp()
  const window = windowOf(useWords())
  const query = { since_ms: window.since_ms, until_ms: window.until_ms }
  const isIos = platform === 'ios'
  return {
    ...{ app_id, query, isIos, days: daysOf(window) },
    skan: useQuery({ ...reportQuery('skan', app_id, query), enabled: isIos }),
  }
}
