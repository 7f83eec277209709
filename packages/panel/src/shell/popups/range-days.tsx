import { parseDate } from '@internationalized/date'
import {
  Button,
  CalendarCell,
  CalendarGrid,
  CalendarGridBody,
  CalendarGridHeader,
  CalendarHeaderCell,
  CalendarHeading,
  RangeCalendar,
} from 'react-aria-components'
import { serverNow } from '../../api/clock.ts'
import { limits } from '../../api/declared/limits.ts'
import { toDay } from '../../api/range.ts'

interface RangeDaysProps {
  first: string
  last: string
  onChange: (from: string, to: string) => void
}

/** Days of a calendar, UTC. */
export default function RangeDays({ first, last, onChange }: RangeDaysProps) {
  return (
    <div>
      <RangeCalendar
        aria-label="Days, UTC"
        className="calendar"
        defaultValue={{ start: parseDate(first), end: parseDate(last) }}
        defaultFocusedValue={parseDate(last)}
        maxValue={parseDate(toDay(serverNow()))}
        firstDayOfWeek="mon"
        onChange={({ start, end }) => {
          const earliest = end.subtract({ days: limits.report_window_days_max - 1 })
          onChange((start.compare(earliest) < 0 ? earliest : start).toString(), end.toString())
        }}
      >
        <header>
          <Button slot="previous" className="button small">
            ‹
          </Button>
          <CalendarHeading />
          <Button slot="next" className="button small">
            ›
          </Button>
        </header>
        <CalendarGrid>
          <CalendarGridHeader>{(day) => <CalendarHeaderCell>{day}</CalendarHeaderCell>}</CalendarGridHeader>
          <CalendarGridBody>{(date) => <CalendarCell date={date} className="day" />}</CalendarGridBody>
        </CalendarGrid>
      </RangeCalendar>
      <p className="quiet">Days are UTC. At most {limits.report_window_days_max} days.</p>
    </div>
  )
}
