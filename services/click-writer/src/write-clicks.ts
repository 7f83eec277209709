import { clickColumns } from '@tributary/attribution/clicks'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { FailedInserts } from '@tributary/clickhouse/failed-inserts'
import { insertDivided } from '@tributary/clickhouse/insert-divided'
import type { KeptClick } from '@tributary/contracts/attribution/decision'
import type { DecodedRecord } from '@tributary/service-kit/consumer/define-consumer'

/** A click as the log has it. */
export interface RecordedClick {
  click: KeptClick
  /** Its row. */
  line: string
}

type Recorded = DecodedRecord<RecordedClick>

interface ClickBlock {
  name: string
  clicks: readonly Recorded[]
}

export interface WriteClicksOptions {
  clickhouse: Pick<Clickhouse, 'insert'>
  failed: FailedInserts
  token: string
  tries: number
}

/** Inserts the clicks of a batch, and gives back those that ClickHouse can't take. A repeated batch changes nothing. */
export async function writeClicks(clicks: readonly Recorded[], options: WriteClicksOptions) {
  const { clickhouse, failed, token: batch_token, tries } = options
  const refused = await insertDivided<ClickBlock>(
    { name: 'all', clicks },
    {
      failed,
      tokenOf: ({ name }) => `${batch_token}/${name}`,
      halve: halveBlock,
      async insert(block, token) {
        const lines = block.clicks.map(({ value }) => value.line).join('\n')
        await clickhouse.insert({ table: 'clicks_raw_v1', columns: clickColumns, lines, token, tries })
      },
    },
  )
  return refused.map(({ block, err }) => ({ record: block.clicks[0]!.record, err }))
}

function halveBlock({ name, clicks }: ClickBlock): [ClickBlock, ClickBlock] | null {
  if (clicks.length < 2) return null
  const half = Math.ceil(clicks.length / 2)
  return [
    { name: `${name}/a`, clicks: clicks.slice(0, half) },
    { name: `${name}/b`, clicks: clicks.slice(half) },
  ]
}
