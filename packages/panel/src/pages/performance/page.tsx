import { ApiError } from '../../api/api-error.ts'
import { count } from '../../api/numbers.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { Figure } from '../../parts/figure.tsx'
import { useSetWords } from '../../shell/words.ts'
import { columnsOf } from './columns.tsx'
import { ColumnMenu, Controls, Fewer } from './controls.tsx'
import { Course } from './course.tsx'
import { usePerformance } from './query.ts'
import { drill, withoutClicks, withoutCosts } from './state.ts'
import { texts } from './texts.ts'

/** Which campaigns earn their money back? The table is the page. */
export default function Performance() {
  const { app_id, state, query, rows } = usePerformance()
  const setWords = useSetWords()
  const { data, error } = rows
  const items = data?.rows ?? []
  const columns = columnsOf(state, data?.meta ?? query, (row, dimension) => setWords(drill(state, row, dimension)))
  const names = (dimensions: typeof state.by) => dimensions.map((one) => texts.dimensions[one].toLowerCase()).join(', ')
  const [noCosts, noClicks] = [withoutCosts(state), withoutClicks(state)]
  const hasOrganic =
    items.length > 1 &&
    state.shown.includes('roas') &&
    items.some(({ partner, roas }) => partner === 'organic' && roas === null)
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
            totals={items.length > 1 ? (data?.meta.totals as (typeof items)[number] | undefined) : undefined}
          />
        )}
      />
      {error instanceof ApiError && error.code === 'too_many_rows' && <Fewer state={state} />}
      {data?.meta.more && <p className="quiet note">{texts.first(count(items.length), count(data.meta.rows))}</p>}
      {hasOrganic && <p className="quiet note">{texts.organic}</p>}
      {noCosts.length > 0 && <p className="quiet note">{texts.noCosts(names(noCosts))}</p>}
      {noClicks.length > 0 && <p className="quiet note">{texts.noClicks(names(noClicks))}</p>}
      {columns.some((column) => column.immature && items.some(column.immature)) && (
        <p className="quiet note">
          <span className="hatched" aria-hidden="true" /> {texts.immature}
        </p>
      )}
    </>
  )
}
