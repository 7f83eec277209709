import { Button } from 'react-aria-components'
import { serverNow } from '../../api/clock.ts'
import { maturityOf, type Period } from '../../api/maturity.ts'
import { count, longDay, none, rate } from '../../api/numbers.ts'
import { toDay } from '../../api/range.ts'
import { Choice } from '../../parts/choice.tsx'
import { DataTable } from '../../parts/figure/data-table.tsx'
import { Figure } from '../../parts/figure/figure.tsx'
import { columnOf, reports } from '../../parts/figure/report-columns.ts'
import { Scroller } from '../../parts/scroller.tsx'
import { useSetWords } from '../../shell/words.ts'
import { overallRate, stepOf } from './chart.ts'
import { type Cohort, cohortDays, cohortOf, type Group, groups, useCohorts } from './query.ts'
import { texts } from './texts.ts'

/** Does day 7 hold for the installs of March, by partner? */
export default function Cohorts() {
  const { app_id, group, period, partner, report, query, asked } = useCohorts()
  const setWords = useSetWords()
  const meta = asked.data?.meta ?? query
  const rows = (asked.data?.rows ?? []).map((row) => cohortOf(row, toDay(meta.since_ms)))
  const ofPartners = group === 'partner'
  return (
    <>
      <div className="filters">
        <Choice
          label={texts.group}
          value={group}
          options={groups.map((id) => ({ id, name: texts.groups[id] }))}
          onChange={(next: Group) => setWords({ group: next, ...(next === 'partner' && { partner: undefined }) })}
        />
        {partner !== undefined && (
          <Button className="button" onPress={() => setWords({ partner: undefined })}>
            {texts.only(partner)} <span aria-hidden="true">×</span>
          </Button>
        )}
      </div>
      <Figure
        id="cohorts"
        title={ofPartners ? texts.byPartner : texts.title}
        help={texts.help}
        report={report}
        app_id={app_id}
        query={query}
        asked={asked}
        empty={rows.length === 0 ? <p className="empty quiet">{texts.none}</p> : undefined}
        chart={() => (
          <HeatMap
            rows={rows}
            period={period}
            until_ms={meta.until_ms}
            {...(ofPartners && { onOpen: (name: string) => setWords({ group: 'day', partner: name }) })}
          />
        )}
        table={() => (
          <DataTable
            label={texts.title}
            columns={ofPartners ? partnerColumns : (reports.cohorts as typeof partnerColumns)}
            items={(asked.data?.rows ?? []) as object[]}
            idOf={(_row, n) => rows[n]?.name ?? ''}
            empty={texts.none}
          />
        )}
      />
    </>
  )
}

const partnerColumns = [
  columnOf<object>('partner', false),
  columnOf<object>('installs', true),
  ...cohortDays.map((n) => columnOf<object>(`d${n}_rate`, true)),
]

interface HeatMapProps {
  rows: readonly Cohort[]
  period: Period
  until_ms: number
  /** Opens a row; absent: rows are days, which are no filter. */
  onOpen?: (name: string) => void
}

/** A table whose cells are coloured by their rate. What is not over yet is hatched; the numbers say all that colours say. */
function HeatMap({ rows, period, until_ms, onOpen }: HeatMapProps) {
  const now_ms = serverNow()
  const rateOf = (row: Cohort, n: number) => (row.installs > 0 ? (row[`d${n}`] ?? 0) / row.installs : 0)
  const shown = cohortDays.filter((n) =>
    rows.some(({ day }) => maturityOf(day, period, n, now_ms, until_ms) !== 'not yet'),
  )
  const most = Math.max(0, ...rows.flatMap((row) => shown.filter((n) => n > 0).map((n) => rateOf(row, n))))
  return (
    <>
      <Scroller className="heat" label={texts.title}>
        <table>
          <thead>
            <tr>
              <th scope="col">{onOpen ? texts.partner : texts.day}</th>
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
              <tr key={row.name}>
                <th scope="row">
                  {onOpen ? (
                    <Button className="drill cut" onPress={() => onOpen(row.name)}>
                      {row.name}
                    </Button>
                  ) : (
                    longDay(row.day)
                  )}
                </th>
                <td>{count(row.installs)}</td>
                {shown.map((n) => {
                  const maturity = maturityOf(row.day, period, n, now_ms, until_ms)
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
                      title={`${count(row[`d${n}`])} / ${count(row.installs)}${immature ? `. ${texts.immature}` : ''}`}
                    >
                      <data value={value}>{rate(value)}</data>
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
          {rows.length > 1 && (
            <tfoot>
              <tr>
                <th scope="row">{texts.over}</th>
                <td>{count(rows.reduce((sum, { installs }) => sum + installs, 0))}</td>
                {shown.map((n) => {
                  const value = overallRate(rows, n, period, now_ms, until_ms)
                  return (
                    <td key={n} title={texts.overHelp}>
                      {value === null ? (
                        <span className="quiet">{none}</span>
                      ) : (
                        <data value={value}>{rate(value)}</data>
                      )}
                    </td>
                  )
                })}
              </tr>
            </tfoot>
          )}
        </table>
      </Scroller>
      <p className="quiet note">
        <span className="hatched" aria-hidden="true" /> {texts.immature}. {rows.length > 1 && texts.overHelp}
      </p>
    </>
  )
}
