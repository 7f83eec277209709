import type { ReportMeta, ReportName } from '@tributary/contracts/reports'
import { type ReactNode, Suspense } from 'react'
import { Button } from 'react-aria-components'
import type { ReportQuery } from '../../api/call.ts'
import { longDay, shortDay } from '../../api/numbers.ts'
import { toDay } from '../../api/range.ts'
import { useSetWords, useWords } from '../../shell/words.ts'
import { Fault } from '../fault.tsx'
import { Opener, popup } from '../opener.tsx'
import { Skeleton } from '../skeleton.tsx'

const moreMenu = popup(() => import('./more-menu.tsx'))
const dayNotes = popup(() => import('./day-notes.tsx'))

/** What a figure needs to know of its answer. */
interface Asked {
  data: { meta: ReportMeta } | undefined
  error: unknown
  isPlaceholderData: boolean
  refetch: () => unknown
}

interface FigureProps {
  /** Its word in the address while its table is shown. */
  id: string
  title: string
  /** One sentence: what it counts. */
  help?: string
  report: ReportName
  app_id: string
  query: ReportQuery
  asked: Asked
  /** Absent: the table is all there is. */
  chart?: () => ReactNode
  table: () => ReactNode
  empty?: ReactNode
  /** Only the first rows were asked for: the page says so itself. */
  first?: true
  /** Controls beside the title. */
  tools?: ReactNode
}

/** A chart of a report, or its table; the same as CSV and as a command. */
export function Figure({
  id,
  title,
  help,
  report,
  app_id,
  query,
  asked,
  chart,
  table,
  empty,
  first,
  tools,
}: FigureProps) {
  const words = useWords()
  const setWords = useSetWords()
  const asTable = words.table === id
  const { data, error, isPlaceholderData } = asked
  return (
    <section className="figure" aria-label={title} data-stale={isPlaceholderData || undefined}>
      <header className="figure-head">
        <div>
          <h2>{title}</h2>
          {help && <p className="quiet">{help}</p>}
        </div>
        <div className="figure-tools">
          {tools}
          {chart && (
            <Button
              className="button small"
              onPress={() => setWords({ table: asTable ? undefined : id }, { replace: true })}
            >
              {asTable ? 'Chart' : 'Table'}
            </Button>
          )}
          {chart && !asTable && (
            <Opener opens={dayNotes} className="button small" aria-label={`Notes in ${title}`} given={{ app_id }}>
              Notes
            </Opener>
          )}
          <Opener
            opens={moreMenu}
            className="button small"
            aria-label={`More of ${title}`}
            given={{ report, app_id, query }}
          >
            <span aria-hidden="true">···</span>
          </Opener>
        </div>
      </header>
      {isPlaceholderData && data && <Stale meta={data.meta} />}
      {error !== null && data === undefined ? (
        <Fault error={error} retry={() => void asked.refetch()} />
      ) : data === undefined ? (
        <Skeleton shape="chart" />
      ) : (
        <>
          {error !== null && <Fault error={error} retry={() => void asked.refetch()} />}
          {empty ?? <Suspense fallback={<Skeleton shape="chart" />}>{chart && !asTable ? chart() : table()}</Suspense>}
          <Notes meta={data.meta} first={first === true} />
        </>
      )}
    </section>
  )
}

/** The request that old numbers answer. */
const Stale = ({ meta: { since_ms, until_ms } }: { meta: ReportMeta }) => (
  <p className="stale" role="status">
    Loading. Still shown: {shortDay(toDay(since_ms))} – {longDay(toDay(until_ms - 1))}
  </p>
)

/** What an answer says of itself. */
function Notes({ meta, first }: { meta: ReportMeta; first: boolean }) {
  const { missing_rates, more, whole_days } = meta
  return (
    <>
      {missing_rates !== undefined && (
        <p className="quiet note">Money in {missing_rates.join(', ')} is left out: no exchange rate.</p>
      )}
      {more && !first && <p className="quiet note">More rows than the panel shows. CSV has all.</p>}
      {whole_days && <p className="quiet note">Raw events of the first day have expired: that day is counted whole.</p>}
    </>
  )
}
