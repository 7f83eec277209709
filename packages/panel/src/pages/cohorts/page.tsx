import { serverNow } from '../../api/clock.ts'
import { maturityOf } from '../../api/maturity.ts'
import { count, longDay, none, rate } from '../../api/numbers.ts'
import { Choice } from '../../parts/choice.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { Figure } from '../../parts/figure.tsx'
import { reports } from '../../parts/report-columns.ts'
import { Scroller } from '../../parts/scroller.tsx'
import { useSetWords } from '../../shell/words.ts'
import { stepOf } from './chart.ts'
import { cohortDays, type Group, groups, useCohorts } from './query.ts'
import { texts } from './texts.ts'

/** Does day 7 hold for the installs of March? */
export default function Cohorts() {
  const { app_id, query, cohorts, group } = useCohorts()
  const setWords = useSetWords()
  const rows = cohorts.data?.rows ?? []
  return (
    <>
      <div className="filters">
        <Choice
          label={texts.group}
          value={group}
          options={groups.map((id) => ({ id, name: texts.groups[id] }))}
          onChange={(next: Group) => setWords({ group: next })}
        />
      </div>
      <Figure
        id="cohorts"
        title={texts.title}
        help={texts.help}
        report="cohorts"
        app_id={app_id}
        query={query}
        asked={cohorts}
        empty={rows.length === 0 ? <p className="empty quiet">{texts.none}</p> : undefined}
        chart={() => <HeatMap rows={rows} group={group} until_ms={cohorts.data?.meta.until_ms ?? query.until_ms} />}
        table={() => (
          <DataTable
            label={texts.title}
            columns={reports.cohorts}
            items={rows}
            idOf={({ day }) => day}
            empty={texts.none}
          />
        )}
      />
    </>
  )
}

interface HeatMapProps {
  rows: readonly { day: string; installs: number }[]
  group: Group
  until_ms: number
}

/** A table whose cells are coloured by their rate. What is not over yet is hatched; the numbers say all that colours say. */
function HeatMap({ rows, group, until_ms }: HeatMapProps) {
  const now_ms = serverNow()
  const rateOf = (row: object, n: number) => (row as Record<string, number>)[`d${n}_rate`] ?? 0
  const shown = cohortDays.filter((n) =>
    rows.some(({ day }) => maturityOf(day, group, n, now_ms, until_ms) !== 'not yet'),
  )
  const most = Math.max(0, ...rows.flatMap((row) => shown.filter((n) => n > 0).map((n) => rateOf(row, n))))
  return (
    <>
      <Scroller className="heat" label={texts.title}>
        <table>
          <thead>
            <tr>
              <th scope="col">{texts.day}</th>
              <th scope="col">{texts.installs}</th>
              {shown.map((n) => (
                <th key={n} scope="col">
                  D{n}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.day}>
                <th scope="row">{longDay(row.day)}</th>
                <td>{count(row.installs)}</td>
                {shown.map((n) => {
                  const maturity = maturityOf(row.day, group, n, now_ms, until_ms)
                  if (maturity === 'not yet')
                    return (
                      <td key={n} className="quiet" title={texts.notYet}>
                        {none}
                      </td>
                    )
                  const value = rateOf(row, n)
                  const immature = maturity === 'immature'
                  return (
                    <td
                      key={n}
                      data-step={immature ? undefined : stepOf(value, most)}
                      data-immature={immature || undefined}
                      title={`${count((row as unknown as Record<string, number>)[`d${n}`])} / ${count(row.installs)}${immature ? `. ${texts.immature}` : ''}`}
                    >
                      <data value={value}>{rate(value)}</data>
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroller>
      <p className="quiet note">
        <span className="hatched" aria-hidden="true" /> {texts.immature}
      </p>
    </>
  )
}
