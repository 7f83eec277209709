import { Button } from 'react-aria-components'
import type { Output } from '../../api/call.ts'
import { count, time } from '../../api/numbers.ts'
import { Fault } from '../../parts/fault.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { Skeleton } from '../../parts/skeleton.tsx'
import { useDeadLetters, useRetry } from './query.ts'
import { texts } from './texts.ts'

type Dead = Output<'listDeadLetters'>['dead'][number]

const columns: DataColumn<Dead>[] = [
  { id: 'topic', name: texts.topic, value: ({ topic }) => topic },
  { id: 'reason', name: texts.reason, value: ({ reason }) => reason.replaceAll('_', ' ') },
  { id: 'count', name: texts.count, numeric: true, value: (one) => one.count, write: count as never },
  { id: 'first', name: texts.first, value: ({ first_ms }) => first_ms, cell: ({ first_ms }) => time(first_ms) },
  { id: 'last', name: texts.last, value: ({ last_ms }) => last_ms, cell: ({ last_ms }) => time(last_ms) },
]
const idOf = ({ topic, reason }: Dead) => `${topic} ${reason}`

/** What a consumer could not handle, and its retry. */
export function DeadLetters() {
  const { data, error, refetch } = useDeadLetters()
  const retry = useRetry()
  return (
    <section className="figure" aria-label={texts.dead}>
      <header className="figure-head">
        <div>
          <h2>{texts.dead}</h2>
          <p className="quiet">{texts.deadHelp}</p>
        </div>
        {data !== undefined && data.dead.length > 0 && (
          <Button className="button small" isPending={retry.isPending} onPress={() => retry.mutate()}>
            {texts.retry}
          </Button>
        )}
      </header>
      {error !== null && <Fault error={error} retry={() => void refetch()} />}
      {retry.error !== null && <Fault error={retry.error} />}
      {retry.data !== undefined && (
        <p role="status">
          {texts.retried(count(retry.data.retried))}{' '}
          {retry.data.too_large !== undefined && texts.tooLarge(count(retry.data.too_large))}
        </p>
      )}
      {data === undefined && error === null && <Skeleton shape="text" />}
      {data?.dead.length === 0 && <p className="quiet">{texts.noDead}</p>}
      {data !== undefined && data.dead.length > 0 && (
        <DataTable label={texts.dead} columns={columns} items={data.dead} idOf={idOf} empty={texts.noDead} />
      )}
    </section>
  )
}
