import { useMemo } from 'react'
import { serverNow } from '../../api/clock.ts'
import { compact, count, money, percent, rate, shortMoney } from '../../api/numbers.ts'
import { LineChart } from '../../parts/figure/charts.tsx'
import { DataTable } from '../../parts/figure/data-table.tsx'
import { Figure } from '../../parts/figure/figure.tsx'
import { columnOf, titleOf } from '../../parts/figure/report-columns.ts'
import { useSetWords } from '../../shell/words.ts'
import { linesOf } from './chart.ts'
import { columnsOf, nameOf } from './columns.tsx'
import { isSum, useCourse } from './query.ts'
import { drill, type State } from './state.ts'
import { texts } from './texts.ts'

/** How a figure is written in a chart, and at its axis. */
function writersOf(figure: string) {
  if (figure.endsWith('_usd'))
    return { write: (value: number) => money(value), tick: (value: number) => shortMoney(value) }
  return /(_rate|roas)$/.test(figure) ? { write: rate, tick: percent } : { write: count, tick: compact }
}

/** A figure over time, by the values of the first dimension. */
export function Course({ state, figure }: { state: State; figure: string }) {
  const setWords = useSetWords()
  const { app_id, dimension, rank, group, query, values, days, course } = useCourse(state, figure)
  const rows = course.data?.rows ?? []
  const until_ms = course.data?.meta.until_ms ?? query.until_ms
  const { series, points, isCut } = useMemo(
    () =>
      linesOf({
        ...{ rows, days, group, figure, until_ms, nameOf },
        values: dimension === undefined ? [texts.all] : values,
        lineOf: (row) => (dimension === undefined ? texts.all : (row[dimension] ?? '')),
        absent: isSum(figure) && figure !== 'cost_usd' && figure !== 'clicks' ? 0 : null,
        now_ms: serverNow(),
      }),
    [rows, days, group, figure, until_ms, dimension, values],
  )
  const of = dimension === undefined ? texts.all : texts.dimensions[dimension]
  const title = texts.chartTitle(titleOf(figure), of)
  const by = dimension === undefined ? [] : [dimension]
  const columns = columnsOf({ ...state, by, period: group, shown: [figure] }, { ...query, until_ms }, (row, one) =>
    setWords(drill(state, row, one)),
  )
  return (
    <Figure
      id="course"
      title={title}
      {...(dimension !== undefined && { help: texts.chartHelp(series.length, of, columnOf(rank, true).name) })}
      report="performance"
      app_id={app_id}
      query={query}
      asked={course}
      empty={rows.length === 0 ? <p className="empty quiet">{texts.none}</p> : undefined}
      chart={() => (
        <>
          <LineChart
            points={points}
            series={series}
            period={group}
            {...writersOf(figure)}
            summary={`${title}: ${series.map(({ name }) => name).join(', ')}.`}
          />
          {isCut && <p className="quiet note">{texts.chartImmature}</p>}
        </>
      )}
      table={() => (
        <DataTable
          label={title}
          columns={columns}
          items={rows}
          idOf={(row) => [row.day, ...by.map((one) => row[one])].join(' ')}
          empty={texts.none}
        />
      )}
    />
  )
}
