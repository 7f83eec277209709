import { Suspense } from 'react'
import { changeOf, exactly, none, signed } from '../../api/numbers.ts'
import { Sparkline } from '../../parts/figure/charts.tsx'
import { texts } from './texts.ts'

interface TileProps {
  name: string
  help?: string
  /** Undefined: not there yet. Null: there is none. */
  now: number | null | undefined
  /** Undefined: not there yet. */
  before?: number | null | undefined
  /** Stands where the change would, of a figure that is not compared. */
  note?: string
  write: (value: number | null) => string
  course?: readonly (number | null)[] | undefined
  stale?: boolean
  /** Nothing came: an error beside it says why. */
  failed?: boolean
  /** More is neither good nor bad, as of cost. */
  neutral?: true
}

/** A figure, its change against the period before, and its course. */
export function Tile({ name, help, now, before, write, course, stale, failed, neutral, note }: TileProps) {
  const change = changeOf(now, before)
  const direction = change === null || change === 0 || neutral ? '' : change > 0 ? 'up' : 'down'
  return (
    <div className="tile" data-stale={stale || undefined}>
      <h2 title={help}>{name}</h2>
      {now === undefined && !failed ? (
        <div className="skeleton skeleton-text" role="status" aria-label="Loading" />
      ) : (
        <p className="tile-value">
          <data value={now ?? none} title={exactly(now)}>
            {write(now ?? null)}
          </data>
        </p>
      )}
      <p className="change">
        {now === undefined ? (
          <span className="quiet">{failed ? texts.failed : ' '}</span>
        ) : note !== undefined || change === null ? (
          <span className="quiet">{note ?? (before === undefined ? ' ' : texts.noComparison)}</span>
        ) : (
          <>
            <b className={direction}>
              <span aria-hidden="true">{change > 0 ? '▲ ' : change < 0 ? '▼ ' : ''}</span>
              {signed(change)}
            </b>
            <span className="quiet">
              {texts.before} {write(before ?? null)}
            </span>
          </>
        )}
      </p>
      <div className="sparkline">
        {course && course.length > 1 && course.some((value) => value !== null && value !== 0) && (
          <Suspense>
            <Sparkline values={course} />
          </Suspense>
        )}
      </div>
    </div>
  )
}
