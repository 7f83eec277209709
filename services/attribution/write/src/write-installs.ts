import { randomUUID } from 'node:crypto'
import type { LogRecord } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { FailedInserts } from '@tributary/clickhouse/failed-inserts'
import { insertDivided } from '@tributary/clickhouse/insert-divided'
import { nameOfLines } from '@tributary/clickhouse/insert-rows'
import type { Batch } from '@tributary/service-kit/consumer/define-consumer'
import { type InstallRow, installLine, storedInstallColumns } from '@tributary/tables/attribution/install-rows'
import { type Followed, followDecisions, type InstallDecisions } from './follow-decisions.ts'

/** A decision whose rows ClickHouse does not take. */
interface RefusedDecision {
  record: LogRecord
  err: unknown
}

/** What became of the decisions of a batch. */
export interface WrittenInstalls extends Followed {
  refused: RefusedDecision[]
}

export interface WriteOptions {
  clickhouse: Pick<Clickhouse, 'insert'>
  failed: FailedInserts
  batch: Pick<Batch<unknown>, 'source' | 'from' | 'token' | 'attempt' | 'stored_at_ms' | 'fence'>
}

/** Installs with the rows that their decisions make. */
interface Block {
  installs: readonly InstallDecisions[]
  followed: Followed
  lines: string
}

/**
 * Inserts the rows of some installs as one block: a reader sees the end of a decision and its successor together, or none
 * of them. A block that ClickHouse can't take is halved by installs, and an install that is left over goes in record by
 * record, so that only records that ClickHouse can't take are refused.
 */
export async function writeInstalls(
  installs: readonly InstallDecisions[],
  options: WriteOptions,
): Promise<WrittenInstalls> {
  const whole = toBlock(installs, options)
  const refused = await insert(whole, options)
  if (refused.length === 0) return { ...whole.followed, refused: [] }
  const left = new Set(refused.flatMap(({ block }) => block.installs))
  const taken = toBlock(
    installs.filter((one) => !left.has(one)),
    options,
  )
  const parts = [{ ...taken.followed, refused: [] as RefusedDecision[] }]
  for (const install of left) parts.push(await writeOneByOne(install, options))
  return join(parts)
}

function toBlock(installs: readonly InstallDecisions[], { batch }: WriteOptions): Block {
  const followed = installs.map((one) => followDecisions(one, batch.source))
  const replacements = followed.flatMap((one) => one.replacements)
  return {
    installs,
    followed: { replacements, ignored: followed.flatMap((one) => one.ignored) },
    lines: replacements.flatMap(({ rows }) => rows.map((row) => storedLine(row, batch))).join('\n'),
  }
}

/** A line with the time of storing, and with the order of the decisions that have the same. */
const storedLine = (row: InstallRow, { from, stored_at_ms }: WriteOptions['batch']): string =>
  `${installLine(row).slice(0, -1)},${stored_at_ms},${row.place.offset - from}]`

/** Later decisions of the install follow the last one that ClickHouse took. */
async function writeOneByOne(install: InstallDecisions, options: WriteOptions): Promise<WrittenInstalls> {
  const parts: WrittenInstalls[] = []
  let { written } = install
  for (const received of install.received) {
    const block = toBlock([{ written, received: [received] }], options)
    const [refusal] = await insert(block, options)
    if (refusal === undefined) parts.push({ ...block.followed, refused: [] })
    else parts.push({ replacements: [], ignored: [], refused: [{ record: received.record, err: refusal.err }] })
    if (refusal === undefined) written = block.followed.replacements.at(-1)?.decision ?? written
  }
  return join(parts)
}

const join = (parts: readonly WrittenInstalls[]): WrittenInstalls => ({
  replacements: parts.flatMap(({ replacements }) => replacements),
  ignored: parts.flatMap(({ ignored }) => ignored),
  refused: parts.flatMap(({ refused }) => refused),
})

/**
 * Gives back single installs that ClickHouse can't take; the rows of all others are in the table and in every view. A
 * repeated batch sends tokens of its own: an engine may know the tokens of an earlier try without its rows, and a view may
 * lack them (docs/decisions/attribution.md#rows-of-verdicts-follow-from-the-log).
 */
function insert(whole: Block, options: WriteOptions) {
  const { clickhouse, failed, batch } = options
  return insertDivided(whole, {
    failed,
    tokenOf: ({ lines }) => `${batch.token}/${nameOfLines(lines)}`,
    halve: ({ installs }) => {
      const half = Math.ceil(installs.length / 2)
      if (installs.length < 2) return null
      return [toBlock(installs.slice(0, half), options), toBlock(installs.slice(half), options)]
    },
    async insert({ lines }, name) {
      if (lines === '') return
      const token = batch.attempt > 1 ? `${name}/${randomUUID()}` : name
      await batch.fence()
      await clickhouse.insert({
        table: 'installs_v1',
        columns: storedInstallColumns,
        lines,
        token,
        attempt: batch.attempt,
      })
    },
  })
}
