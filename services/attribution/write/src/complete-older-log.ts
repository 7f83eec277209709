import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { insertSettings } from '@tributary/clickhouse/insert-settings'
import { textLiteral } from '@tributary/clickhouse/literals'
import { settingsSql } from '@tributary/clickhouse/settings-sql'
import { CodedError } from '@tributary/contracts/errors'
import { type DerivedName, derivedNames, derivedOf } from '@tributary/contracts/tables'
import type { Batch } from '@tributary/service-kit/consumer/define-consumer'
import { ofPartition } from '@tributary/tables/attribution/install-rows'
import { bumpMoneyDays } from '@tributary/tables/settled/bump-stamps'

type NewLog = Pick<Batch<unknown>, 'topic' | 'source' | 'partition' | 'token' | 'attempt' | 'fence'>

/** The tables that views fill from `installs_v1`. */
const filled = derivedNames.filter((name) => derivedOf(name).from === 'installs_v1')

/**
 * Ends what an older log of the partition left at work, before the first batch of a new one: its open batch is not known any
 * more, so `installs_v1` may hold rows that a view lacks. Only the last batch of a log can be half-done, and it had at
 * most `records_max` records.
 */
export async function completeOlderLog(clickhouse: Clickhouse, batch: NewLog, records_max: number): Promise<void> {
  const [consumer] = batch.token.split('/')
  // An insert of the older log that lands after the look-up would cancel a decision a second time.
  if (await clickhouse.isInserting(`${consumer}/${batch.topic}/${batch.partition}/`)) {
    throw new CodedError('unavailable', { message: 'an insert of an older log is still at work' })
  }
  const older = await findOlderLog(clickhouse, batch)
  if (older === null) return
  const tail = await tailOf(clickhouse, { source: older, partition: batch.partition }, records_max)
  for (const table of filled) {
    await batch.fence()
    await refill(clickhouse, table, tail, batch)
  }
  await bumpMoneyDays(clickhouse, await installsOf(clickhouse, tail))
}

const installsOf = (clickhouse: Clickhouse, tail: string) =>
  clickhouse.query<{ app_id: string; install_uuid: string }>(
    `SELECT DISTINCT app_id, install_uuid FROM installs_v1 WHERE ${tail}`,
  )

/** The newest other log that the partition has rows of; null without one. */
async function findOlderLog(clickhouse: Clickhouse, { topic, source, partition }: NewLog): Promise<string | null> {
  const [found] = await clickhouse.query<{ older: string }>(
    `SELECT max(toString(topic)) AS older FROM installs_v1
     WHERE partition = ${Number(partition)} AND startsWith(topic, ${textLiteral(`${topic}@`)})
       AND topic != ${textLiteral(source)}`,
  )
  return found?.older || null
}

/** SQL condition for the rows of the last records of a log. */
async function tailOf(
  clickhouse: Clickhouse,
  at: Parameters<typeof ofPartition>[0],
  records_max: number,
): Promise<string> {
  const [found] = await clickhouse.query<{ from: number }>(
    `SELECT min(offset) AS from
     FROM (SELECT DISTINCT offset FROM installs_v1 WHERE ${ofPartition(at)} ORDER BY offset DESC LIMIT ${records_max})`,
  )
  return `${ofPartition(at)} AND offset >= ${Number(found!.from)}`
}

/** Puts the rows into a table again. It is a set: what it has counts once, also without the engine's own deduplication. */
async function refill(clickhouse: Clickhouse, table: DerivedName, tail: string, { token, attempt }: NewLog) {
  const { where = '1', groups, values = {} } = derivedOf(table)
  const columns = [...Object.keys(groups), ...Object.keys(values)]
  const expressions = [...Object.values(groups), ...Object.values(values).map(([, recounted]) => recounted)]
  const name = `${token}/older/${table}`
  const settings = settingsSql({ ...insertSettings, deduplicate_insert_select: 'disable' })
  await clickhouse.command(
    `INSERT INTO ${table} (${columns.join(', ')})
     SELECT ${expressions.join(', ')} FROM installs_v1 WHERE ${where} AND ${tail} GROUP BY ALL SETTINGS ${settings}`,
    { name, attempt },
  )
}
