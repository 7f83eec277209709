import { count, duration, exactly, none } from '../../api/numbers.ts'
import { Fault } from '../../parts/fault.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { Skeleton } from '../../parts/skeleton.tsx'
import { type Status, useProcess, useStatus } from './query.ts'
import { texts } from './texts.ts'

type Consumer = Status['consumers'][number]
type Binding = Status['bindings'][string] & { name: string }

/** A record that waits longer than this is late. */
const late_ms = 60_000
const stateOf = ({ lag, oldest_unwritten_ms }: Consumer): 'caughtUp' | 'behind' | 'late' =>
  lag === 0 ? 'caughtUp' : (oldest_unwritten_ms ?? 0) > late_ms ? 'late' : 'behind'
const looks = { caughtUp: 'good', behind: 'warn', late: 'bad' } as const

const consumerColumns: DataColumn<Consumer>[] = [
  { id: 'name', name: texts.consumer, value: ({ name }) => name },
  {
    ...{ id: 'state', name: texts.state, value: (one: Consumer) => texts[stateOf(one)] },
    cell: (one) => <span className={`pill ${looks[stateOf(one)]}`}>{texts[stateOf(one)]}</span>,
  },
  { id: 'lag', name: texts.lag, numeric: true, value: ({ lag }) => lag, write: count as never },
  {
    ...{ id: 'oldest', name: texts.oldest, numeric: true, value: (one: Consumer) => one.oldest_unwritten_ms },
    write: duration as never,
  },
  { id: 'topic', name: texts.topic, value: ({ topic }) => topic },
]
const bindingColumns: DataColumn<Binding>[] = [
  { id: 'name', name: texts.binding, value: ({ name }) => name.replaceAll('_', ' ') },
  {
    ...{ id: 'state', name: texts.state, value: ({ status }: Binding) => texts[status] },
    cell: ({ status }) => <span className={`pill ${status === 'ok' ? 'good' : 'bad'}`}>{texts[status]}</span>,
  },
  { id: 'latency', name: texts.latency, numeric: true, value: (one) => one.latency_ms, write: exactly as never },
]
const idOf = ({ name }: { name: string }) => name

/** The bindings, the consumers and the process, as they are now. */
export function System() {
  const { data, error, refetch } = useStatus()
  return (
    <>
      <section className="figure" aria-label={texts.system}>
        <header className="figure-head">
          <div>
            <h2>{texts.system}</h2>
            <p className="quiet">{texts.systemHelp}</p>
          </div>
          {data !== undefined && (
            <span className={`pill ${data.ready ? 'good' : 'bad'}`} role="status">
              {data.ready ? texts.ready : texts.notReady}
            </span>
          )}
        </header>
        {error !== null && <Fault error={error} retry={() => void refetch()} />}
        {data === undefined && error === null && <Skeleton shape="table" />}
        {data !== undefined && (
          <div className="halves">
            <DataTable
              label={texts.bindings}
              columns={bindingColumns}
              items={Object.entries(data.bindings).map(([name, binding]) => ({ name, ...binding }))}
              idOf={idOf}
              empty={none}
            />
            <DataTable
              label={texts.consumers}
              columns={consumerColumns}
              items={data.consumers}
              idOf={idOf}
              empty={none}
            />
          </div>
        )}
      </section>
      <Process />
    </>
  )
}

/** Faults of the process, such as a full disk. */
function Process() {
  const { data, error, refetch } = useProcess()
  const troubles = data?.troubles ?? []
  return (
    <section className="figure" aria-label={texts.troubles}>
      <h2>{texts.troubles}</h2>
      {error !== null && <Fault error={error} retry={() => void refetch()} />}
      {data !== undefined && troubles.length === 0 && <p className="quiet">{texts.noTroubles}</p>}
      {troubles.length > 0 && (
        <ul className="attention">
          {troubles.map(({ code, message, fix }) => (
            <li key={code}>
              <span className="pill bad">{code.replaceAll('_', ' ')}</span>
              <div className="wrap">
                <strong>{message}</strong> <span className="quiet">{fix}</span>
              </div>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
