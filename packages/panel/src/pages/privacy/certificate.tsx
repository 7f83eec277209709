import type { ReactNode } from 'react'
import { count, time } from '../../api/numbers.ts'
import { Snippet } from '../../parts/copy-button.tsx'
import { Facts } from '../../parts/facts.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import type { Certificate } from './query.ts'
import { texts } from './texts.ts'

interface CertificateProps {
  install_uuid: string
  certificate: Certificate
  children: ReactNode
}

type Rows = readonly [table: string, rows: number]
const columns: DataColumn<Rows>[] = [
  { id: 'table', name: texts.table, value: ([table]) => table },
  { id: 'rows', name: texts.count, numeric: true, value: ([, rows]) => rows, write: count as never },
]
const idOf = ([table]: Rows) => table

/** What was erased of an install, and when. */
export function CertificateCard({ install_uuid, certificate, children }: CertificateProps) {
  const { state, marks, drained_at_ms, rows, objects_rewritten, objects_unreadable, version } = certificate
  return (
    <section className="card" aria-label={texts.certificate}>
      <div className="line">
        <h2>{texts.certificate}</h2>
        <span className={`pill ${state === 'completed' ? 'good' : 'warn'}`} role="status">
          {texts.states[state]}
        </span>
        <span className="quiet">{texts.means[state]}</span>
      </div>
      <Facts
        facts={[
          [
            texts.install,
            <code key="id" className="wrap">
              {install_uuid}
            </code>,
          ],
          [texts.requested, marks.map(({ requested_at_ms }) => time(requested_at_ms)).join(' · ')],
          [texts.upTo, marks.map(({ erased_up_to_ms }) => time(erased_up_to_ms)).join(' · ')],
          [texts.drained, time(drained_at_ms)],
          [texts.rewritten, count(objects_rewritten)],
          ...(objects_unreadable === undefined ? [] : ([[texts.unreadable, count(objects_unreadable)]] as const)),
          [texts.version, version],
        ]}
      />
      <h3>{texts.rows}</h3>
      {Object.keys(rows).length === 0 ? (
        <p className="quiet">{texts.noRows}</p>
      ) : (
        <DataTable
          label={texts.rows}
          columns={columns}
          items={Object.entries(rows)}
          idOf={idOf}
          empty=""
          sort={{ column: 'rows', direction: 'descending' }}
        />
      )}
      <Snippet label={texts.json} text={JSON.stringify({ install_uuid, ...certificate }, null, 2)} />
      {children}
    </section>
  )
}
