import type { ReportRow } from '@tributary/contracts/reports'
import { Button } from 'react-aria-components'
import { ApiError } from '../../api/api-error.ts'
import { serverNow } from '../../api/clock.ts'
import { count, longDay } from '../../api/numbers.ts'
import { day_ms, toDay, type Window } from '../../api/range.ts'
import { DataTable } from '../../parts/figure/data-table.tsx'
import { Figure } from '../../parts/figure/figure.tsx'
import { daysWithoutCost, paidOf } from '../../parts/figure/paid.ts'
import { useSetWords } from '../../shell/words.ts'
import { columnsOf } from './columns.tsx'
import { ColumnMenu, Controls, Fewer } from './controls.tsx'
import { Course } from './course.tsx'
import { usePerformance } from './query.ts'
import { drill, type State, withoutClicks, withoutCosts } from './state.ts'
import { texts } from './texts.ts'

type Row = ReportRow<'performance'>

const ofCost = (figure: string) => /cost_usd|cpi_usd|roas/.test(figure)

/** All rows together; above them, where some have no cost, the partners that have: only there cost and revenue belong together. */
function totalsOf({ shown }: State, all: Row | undefined, partnerDays: readonly Row[]) {
  if (all === undefined) return []
  const paid = shown.some(ofCost) ? paidOf(partnerDays) : null
  const some = paid !== null && new Set(partnerDays.map(({ partner }) => partner)).size > paid.partners
  return [...(some ? [[texts.paid, paid as unknown as Row] as const] : []), [texts.allRows, all] as const]
}

/** Which campaigns earn their money back? The table is the page. */
export default function Performance() {
  const { app_id, state, query, rows, partners, window } = usePerformance()
  const setWords = useSetWords()
  const { data, error } = rows
  const items = data?.rows ?? []
  const columns = columnsOf(state, data?.meta ?? query, (row, dimension) => setWords(drill(state, row, dimension)))
  const names = (dimensions: typeof state.by) => dimensions.map((one) => texts.dimensions[one].toLowerCase()).join(', ')
  const [noCosts, noClicks] = [withoutCosts(state), withoutClicks(state)]
  const partnerDays = partners.isPlaceholderData ? [] : (partners.data?.rows ?? [])
  const uncosted = state.shown.some(ofCost) ? daysWithoutCost(partnerDays, window, serverNow()) : 0
  return (
    <>
      <Controls state={state} />
      {state.chart !== null && <Course state={state} figure={state.chart} />}
      <Figure
        id="performance"
        title={texts.title}
        help={texts.help}
        report="performance"
        app_id={app_id}
        query={query}
        asked={rows}
        first
        tools={<ColumnMenu state={state} />}
        table={() => (
          <DataTable
            label={texts.title}
            columns={columns}
            items={items}
            idOf={(row, n) => [row.day, ...state.by.map((one) => row[one])].join(' ') || String(n)}
            empty={texts.none}
            sort={{
              column: state.sort.replace(/^-/, ''),
              direction: state.sort.startsWith('-') ? 'descending' : 'ascending',
            }}
            onSort={({ column, direction }) => {
              // A figure begins with its greatest values.
              const isNew = column !== state.sort.replace(/^-/, '')
              const down = isNew ? state.shown.includes(String(column)) : direction === 'descending'
              setWords({ sort: `${down ? '-' : ''}${column}` }, { replace: true })
            }}
            totals={items.length > 1 ? totalsOf(state, data?.meta.totals as Row | undefined, partnerDays) : []}
          />
        )}
      />
      {error instanceof ApiError && error.code === 'too_many_rows' && <Fewer state={state} />}
      {data?.meta.more && <p className="quiet note">{texts.first(count(items.length), count(data.meta.rows))}</p>}
      {uncosted > 0 && <p className="quiet note">{texts.uncosted(uncosted)}</p>}
      {noCosts.length > 0 && <p className="quiet note">{texts.noCosts(names(noCosts))}</p>}
      {noClicks.length > 0 && <p className="quiet note">{texts.noClicks(names(noClicks))}</p>}
      {columns.some((column) => column.immature && items.some(column.immature)) && (
        <Immature window={window} mature_until_ms={data?.meta.mature_until_ms ?? 0} />
      )}
    </>
  )
}

/** What hatched cells mean, and the way to days without any. */
function Immature({ window, mature_until_ms }: { window: Window; mature_until_ms: number }) {
  const setWords = useSetWords()
  const last = toDay(Math.floor(mature_until_ms / day_ms) * day_ms - day_ms)
  const first = toDay(window.since_ms)
  return (
    <p className="quiet note">
      <span className="hatched" aria-hidden="true" /> {texts.immature}{' '}
      {last >= first && (
        <Button className="button link" onPress={() => setWords({ range: undefined, from: first, to: last })}>
          {texts.mature(longDay(last))}
        </Button>
      )}
    </p>
  )
}
