import {
  CartesianGrid,
  Line,
  LineChart as Lines,
  ReferenceLine,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from 'recharts'
import { serverNow } from '../../api/clock.ts'
import { isOpen, type Period } from '../../api/maturity.ts'
import { longDay, shortDay } from '../../api/numbers.ts'
import { useDayNotes } from './day-notes.tsx'
import { notesOf, type Point, type Series } from './points.ts'
import { colourOf, Legend, Marker, open_name } from './series.tsx'

interface LineChartProps {
  points: readonly Point[]
  series: readonly Series[]
  /** What the chart shows, in words. */
  summary: string
  /** Writes a value, exactly. */
  write: (value: number) => string
  /** Writes a value of the axis, shortly. */
  tick?: (value: number) => string
  /** Writes `day` of a point; a day of the calendar when absent. */
  at?: (day: string) => string
  /** `day` is a number, and lies where it belongs. */
  scaled?: boolean
  /** What a point is of; a day when absent. */
  period?: Period
  /** A value that the lines are measured by, with its name. */
  mark?: { value: number; name: string } | null
}

/** More points than this have no marker each: they would hide the line. */
const markers_max = 45

/** Lines over days. */
export default function LineChart(props: LineChartProps) {
  const { points, series, summary, write, tick = write, at, scaled, period = 'day', mark } = props
  const few = points.length <= markers_max
  const last = points.at(-1)?.day
  // A line to a day that is not over looks like a fall: it is dashed.
  const open = at === undefined && last !== undefined && isOpen(last, period, serverNow()) ? last : null
  const notes = notesOf(useDayNotes(), at === undefined && !scaled ? points : [], period)
  const beforeLast = points.at(-2)?.day
  const parts = series.flatMap((one, n) => [
    { ...one, n, part: 'over', has: (day: string) => day !== open },
    ...(open === null ? [] : [{ ...one, n, part: 'open', has: (day: string) => day === open || day === beforeLast }]),
  ])
  return (
    <div className="chart">
      <ResponsiveContainer width="100%" height={260}>
        <Lines data={points as Point[]} margin={{ top: 8, right: 24, bottom: 0, left: 0 }} title={summary}>
          <CartesianGrid vertical={false} stroke="var(--line)" />
          <XAxis
            dataKey={scaled ? (point: Point) => Number(point.day) : 'day'}
            {...(scaled && {
              type: 'number' as const,
              domain: ['dataMin', 'dataMax'],
              ticks: points.map(({ day }) => Number(day)),
            })}
            tickFormatter={(day: string | number) => (at ?? shortDay)(String(day))}
            tickLine={false}
            axisLine={{ stroke: 'var(--line-strong)' }}
            minTickGap={32}
            tick={{ fill: 'var(--quiet)', fontSize: 12 }}
          />
          <YAxis
            width="auto"
            tickFormatter={(value: number) => tick(value)}
            tickLine={false}
            axisLine={false}
            allowDecimals={tick !== write}
            tick={{ fill: 'var(--quiet)', fontSize: 12 }}
          />
          <Tooltip
            cursor={{ stroke: 'var(--line-strong)' }}
            isAnimationActive={false}
            content={({ active, payload, label }) =>
              active ? (
                <div className="tip">
                  <p>
                    {at ? at(String(label)) : longDay(String(label))}
                    {label === open && `, ${open_name}`}
                  </p>
                  {notes.get(String(label))?.map(({ note_id, text }) => (
                    <p key={note_id} className="wrap">
                      {text}
                    </p>
                  ))}
                  <dl>
                    {series.map(({ key, name }, n) => {
                      const value = (payload?.[0]?.payload as Point | undefined)?.[key]
                      return (
                        <div key={key}>
                          <dt>
                            <svg width="12" height="12" viewBox="-6 -6 12 12" aria-hidden="true">
                              <Marker n={n} x={0} y={0} />
                            </svg>
                            {name}
                          </dt>
                          <dd className="number">{typeof value === 'number' ? write(value) : '-'}</dd>
                        </div>
                      )
                    })}
                  </dl>
                </div>
              ) : null
            }
          />
          {[...notes.keys()].map((day) => (
            <ReferenceLine key={day} x={day} stroke="var(--line-strong)" strokeDasharray="2 3" />
          ))}
          {mark && (
            <ReferenceLine
              y={mark.value}
              stroke="var(--text)"
              strokeDasharray="6 4"
              ifOverflow="extendDomain"
              label={{ value: mark.name, position: 'insideTopRight', fill: 'var(--text)', fontSize: 12 }}
            />
          )}
          {parts.map(({ key, name, dashed, n, part, has }) => (
            <Line
              key={`${key} ${part}`}
              dataKey={(point: Point) => (has(point.day) ? (point[key] ?? null) : null)}
              name={name}
              stroke={colourOf(n)}
              strokeWidth={2}
              {...((dashed || part === 'open') && { strokeDasharray: '4 4' })}
              isAnimationActive={false}
              connectNulls={false}
              dot={
                few
                  ? ({ cx, cy, index, value }) =>
                      typeof value === 'number' && cx !== undefined && cy !== undefined ? (
                        <Marker key={index} n={n} x={cx} y={cy} />
                      ) : (
                        <g key={index} />
                      )
                  : false
              }
              activeDot={{ r: 5, fill: colourOf(n) }}
            />
          ))}
        </Lines>
      </ResponsiveContainer>
      <Legend series={series} open={open !== null} />
      {notes.size > 0 && (
        <ul className="day-notes quiet">
          {[...notes.values()].flat().map(({ note_id, day, text }) => (
            <li key={note_id} className="wrap">
              {longDay(day)}: {text}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
