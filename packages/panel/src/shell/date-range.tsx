import { longDay, shortDay } from '../api/numbers.ts'
import { day_ms, isCustom, type Preset, presetOf, toDay, windowOf } from '../api/range.ts'
import { Opener, popup } from '../parts/opener.tsx'
import { useWords } from './words.ts'

const rangeChoice = popup(() => import('./popups/range-choice.tsx'))

export const presetNames: Record<Preset, string> = {
  '1d': 'Today',
  yesterday: 'Yesterday',
  '7d': '7 days',
  '14d': '14 days',
  '30d': '30 days',
  '90d': '90 days',
  month: 'This month',
  'last-month': 'Last month',
}

/** The window of all reports of a page: presets, or days of a calendar. Days are UTC, and it says so. */
export function DateRange() {
  const words = useWords()
  const { since_ms, until_ms } = windowOf(words)
  const [first, last] = [toDay(since_ms), toDay(until_ms - day_ms)]
  const title = isCustom(words)
    ? first === last
      ? longDay(first)
      : `${shortDay(first)} – ${longDay(last)}`
    : presetNames[presetOf(words)]
  return (
    <Opener opens={rangeChoice} className="button" aria-label={`Dates: ${title}, UTC`} given={{ first, last }}>
      {title} <span className="quiet">UTC</span>
      <span aria-hidden="true" className="caret" />
    </Opener>
  )
}
