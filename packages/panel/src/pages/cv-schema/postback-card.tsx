import { money } from '../../api/numbers.ts'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import type { Postback } from './query.ts'
import { texts } from './texts.ts'

type Band = Postback['fine'][number] | Postback['coarse'][number]

const columns: DataColumn<Band>[] = [
  { id: 'value', width: 80, name: texts.value, value: ({ value }) => value },
  { id: 'name', width: 300, name: texts.name, value: ({ name }) => name },
  { id: 'event', name: texts.event, value: (one) => one.event_name ?? null },
  { id: 'from', name: texts.from, numeric: true, value: (one) => one.revenue_min_usd ?? null, write: money as never },
  { id: 'below', name: texts.below, numeric: true, value: (one) => one.revenue_max_usd ?? null, write: money as never },
]
const idOf = ({ value }: Band) => String(value)

/** The conversion values of one postback: the line of 64, then each with its meaning. */
export function PostbackCard({ postback }: { postback: Postback }) {
  const { postback_sequence_index, window_hours, lock_window, fine, coarse } = postback
  const title = texts.postbacks[postback_sequence_index]
  return (
    <section className="card" aria-label={title}>
      <div className="line">
        <h2>{title}</h2>
        <span className="quiet">
          {texts.window(window_hours)}
          {lock_window && ` · ${texts.locks}`}
        </span>
      </div>
      {fine.length > 0 && (
        <>
          <ValueLine fine={fine} title={title} />
          <DataTable label={`${title}: ${texts.fine}`} columns={columns} items={fine} idOf={idOf} empty="" />
        </>
      )}
      {coarse.length > 0 && (
        <>
          <h3>{texts.coarse}</h3>
          <DataTable label={`${title}: ${texts.coarse}`} columns={columns} items={coarse} idOf={idOf} empty="" />
        </>
      )}
      {fine.length + coarse.length === 0 && <p className="quiet">{texts.noValues}</p>}
    </section>
  )
}

const values = Array.from({ length: 64 }, (_, n) => n)

/** The values from 0 to 63: filled where one has a meaning, lower where it is an event without revenue. */
function ValueLine({ fine, title }: { fine: Postback['fine']; title: string }) {
  const meanings = new Map(fine.map((band) => [band.value, band]))
  return (
    <svg className="value-line" viewBox="0 0 640 40" role="img" aria-label={texts.line(fine.length, title)}>
      {values.map((value) => {
        const band = meanings.get(value)
        const height = band === undefined ? 2 : (band.revenue_min_usd ?? null) === null ? 12 : 24
        return (
          <rect
            key={value}
            x={value * 10 + 1}
            y={26 - height}
            width={8}
            height={height}
            rx={1}
            fill={band === undefined ? 'var(--line-strong)' : 'var(--accent)'}
          >
            {band !== undefined && <title>{`${value}: ${band.name}`}</title>}
          </rect>
        )
      })}
      {[0, 16, 32, 48, 63].map((value) => (
        <text key={value} x={value * 10 + 5} y={38} textAnchor="middle" fill="var(--quiet)" fontSize={9}>
          {value}
        </text>
      ))}
    </svg>
  )
}
