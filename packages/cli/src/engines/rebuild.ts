import {
  clickhouseSettings,
  openClickhouse,
  requireClickhouseSchema,
} from '@tributary/service-kit/resources/clickhouse'
import { kafkaSettings, openKafka } from '@tributary/service-kit/resources/kafka'
import { findDifferences } from '@tributary/tables/repair/compare-tables'
import { refill_token, refillTables } from '@tributary/tables/repair/refill-tables'
import { readEngineSettings } from '../config.ts'
import { CliError } from '../errors.ts'
import { withService } from './brief-service.ts'
import { readLogAgain } from './stopped-writers.ts'

/** Enough for a slice of a million rows on a busy server. */
const statement_ms_min = 600_000

export interface Rebuilt {
  /** Tables whose number of events differs from `events_raw_v1`. */
  differing: { table: string; counted: number; expected: number }[]
  /** Tables that were emptied and refilled, including tables that a view fills from one of them. */
  filled: string[]
}

/**
 * Refills tables of the ClickHouse server that lack rows from `events_raw_v1`, and makes the event-writers read the log
 * again when they start. Throws CliError `writers_running` unless they are stopped. May be killed and repeated.
 */
export function rebuildTables(dryRun: boolean): Promise<Rebuilt> {
  refuseStandalone('Standalone rebuilds tables at each start: stop and start it.')
  const config = readEngineSettings(
    [...clickhouseSettings, ...kafkaSettings],
    ['TRIBUTARY_CLICKHOUSE_URL', 'TRIBUTARY_KAFKA_BROKERS'],
  )
  const query_timeout_ms = Math.max(config.TRIBUTARY_CLICKHOUSE_QUERY_TIMEOUT_MS, statement_ms_min)
  return withService(async (service) => {
    const clickhouse = await openClickhouse(
      { ...config, TRIBUTARY_CLICKHOUSE_QUERY_TIMEOUT_MS: query_timeout_ms },
      service,
    )
    await requireClickhouseSchema(clickhouse)
    const differing = await findDifferences(clickhouse, [])
    if (dryRun || differing.length === 0) return { differing, filled: [] }
    // First, because it detects running writers, and because the log must be read again even if this rebuild is killed.
    await readLogAgain(await openKafka(config, service))
    // The server may still run an insert of a killed rebuild.
    if (await clickhouse.isInserting(refill_token))
      throw new CliError('rebuild_running', 'An earlier rebuild is still running in ClickHouse. Wait until it ends.')
    const tables = differing.map(({ table }) => table)
    const filled = await refillTables({ clickhouse, tables, logger: service.logger })
    const left = await findDifferences(clickhouse, [])
    if (left.length > 0)
      throw new CliError('tables_differ', `Tables still differ: ${JSON.stringify(left)}. Run it again.`)
    return { differing, filled }
  })
}

/** Throws CliError `not_a_fleet` unless ClickHouse is a server; `instead` says what to do. */
export function refuseStandalone(instead: string): void {
  const { TRIBUTARY_CLICKHOUSE_URL: server } = readEngineSettings(clickhouseSettings, [])
  if (server !== undefined) return
  throw new CliError('not_a_fleet', `TRIBUTARY_CLICKHOUSE_URL is not set. ${instead}`)
}
