import { Dialog, Popover, ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { isCustom, presetOf, presets } from '../../api/range.ts'
import type { Opened } from '../../parts/opener.tsx'
import { presetNames } from '../date-range.tsx'
import { useSetWords, useWords } from '../words.ts'
import RangeDays from './range-days.tsx'

/** The usual ranges, and a calendar. */
export default function RangeChoice({ first, last, ...popover }: { first: string; last: string } & Opened) {
  const words = useWords()
  const setWords = useSetWords()
  const custom = isCustom(words)
  return (
    <Popover {...popover} className="popover range" placement="bottom end">
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
            popover.onOpenChange(false)
          }}
        >
          {presets.map((preset) => (
            <ToggleButton key={preset} id={preset} className="list-item">
              {presetNames[preset]}
            </ToggleButton>
          ))}
        </ToggleButtonGroup>
        <RangeDays
          first={first}
          last={last}
          onChange={(from, to) => {
            setWords({ range: undefined, from, to })
            popover.onOpenChange(false)
          }}
        />
      </Dialog>
    </Popover>
  )
}
