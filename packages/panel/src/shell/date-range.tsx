import { lazy, Suspense, useState } from 'react'
import { Button, Dialog, DialogTrigger, Popover, ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { longDay, shortDay } from '../api/numbers.ts'
import { day_ms, isCustom, type Preset, presetOf, presets, toDay, windowOf } from '../api/range.ts'
import { Skeleton } from '../parts/skeleton.tsx'
import { useSetWords, useWords } from './words.ts'

const RangeDays = lazy(() => import('./range-days.tsx'))

const names: Record<Preset, string> = {
  '1d': 'Today',
  '7d': '7 days',
  '14d': '14 days',
  '30d': '30 days',
  '90d': '90 days',
  month: 'This month',
}

/** The window of all reports of a page: presets, or days of a calendar. Days are UTC, and it says so. */
export function DateRange() {
  const words = useWords()
  const setWords = useSetWords()
  const [open, setOpen] = useState(false)
  const { since_ms, until_ms } = windowOf(words)
  const [first, last] = [toDay(since_ms), toDay(until_ms - day_ms)]
  const custom = isCustom(words)
  const title = custom
    ? first === last
      ? longDay(first)
      : `${shortDay(first)} – ${longDay(last)}`
    : names[presetOf(words)]
  return (
    <DialogTrigger isOpen={open} onOpenChange={setOpen}>
      <Button className="button" aria-label={`Dates: ${title}, UTC`}>
        {title} <span className="quiet">UTC</span>
        <span aria-hidden="true" className="caret" />
      </Button>
      <Popover className="popover range" placement="bottom end">
        <Dialog aria-label="Dates" className="range-dialog">
          <ToggleButtonGroup
            aria-label="Usual ranges"
            className="range-presets"
            orientation="vertical"
            selectionMode="single"
            selectedKeys={custom ? [] : [presetOf(words)]}
            onSelectionChange={(keys) => {
              const [key] = keys
              if (key !== undefined) setWords({ range: String(key), from: undefined, to: undefined })
              setOpen(false)
            }}
          >
            {presets.map((preset) => (
              <ToggleButton key={preset} id={preset} className="list-item">
                {names[preset]}
              </ToggleButton>
            ))}
          </ToggleButtonGroup>
          <Suspense fallback={<Skeleton shape="calendar" />}>
            <RangeDays
              first={first}
              last={last}
              onChange={(from, to) => {
                setWords({ range: undefined, from, to })
                setOpen(false)
              }}
            />
          </Suspense>
        </Dialog>
      </Popover>
    </DialogTrigger>
  )
}
