import { parseDate } from '@internationalized/date'
import {
  Button,
  CalendarCell,
  CalendarGrid,
  CalendarGridBody,
  CalendarGridHeader,
  CalendarHeaderCell,
  CalendarHeading,
  Form,
  RangeCalendar,
} from 'react-aria-components'
import { serverNow } from '../../api/clock.ts'
import { limits } from '../../api/declared/limits.ts'
import { toDay } from '../../api/range.ts'
import { givenOf } from '../../parts/given.ts'
import { TextInput } from '../../parts/text-input.tsx'

interface RangeDaysProps {
  first: string
  last: string
  onChange: (from: string, to: string) => void
}

/** A choice of UTC days, in a calendar or typed. */
export default function RangeDays({ first, last, onChange }: RangeDaysProps) {
  const today = toDay(serverNow())
  /** Cuts the first of more days than a report takes. */
  const choose = (from: string, to: string) => {
    const earliest = parseDate(to)
      .subtract({ days: limits.report_window_days_max - 1 })
      .toString()
    onChange(from < earliest ? earliest : from, to)
  }
  return (
    <div>
      <RangeCalendar
        aria-label="Days, UTC"
        className="calendar"
        defaultValue={{ start: parseDate(first), end: parseDate(last) }}
        defaultFocusedValue={parseDate(last)}
        maxValue={parseDate(today)}
        firstDayOfWeek="mon"
        onChange={({ start, end }) => choose(start.toString(), end.toString())}
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
      <Form
        className="line"
        onSubmit={(event) => {
          event.preventDefault()
          const given = givenOf(event.currentTarget)
          const [from = today, to = today] = [given('from'), given('to')].toSorted()
          choose(from, to)
        }}
      >
        <TextInput name="from" type="date" label="From" defaultValue={first} isRequired />
        <TextInput name="to" type="date" label="To" defaultValue={last} isRequired />
        <Button type="submit" className="button small">
          Show
        </Button>
      </Form>
      <p className="quiet">Days are UTC. At most {limits.report_window_days_max} days.</p>
    </div>
  )
}
