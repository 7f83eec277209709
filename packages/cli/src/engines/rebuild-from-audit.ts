import type { Progress } from '@tributary/audited/reading'
import {
  databaseOf,
  RebuildRunningError,
  type RebuiltFromAudit,
  rebuildFromAudit,
  SwapUnfinishedError,
  scratchOf,
} from '@tributary/audited/rebuild'
import { textLiteral } from '@tributary/clickhouse/literals'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { raw_events_lock, retention_lock } from '@tributary/erasure/raw-events-lock'
import { openTombstones } from '@tributary/erasure/tombstones'
import { unlessRunning } from '@tributary/postgres/one-at-a-time'
import { clickhouseEngine, openClickhouse } from '@tributary/service-kit/resources/clickhouse'
import { kafkaEngine } from '@tributary/service-kit/resources/kafka'
import { postgresEngine } from '@tributary/service-kit/resources/postgres'
import { openResources } from '@tributary/service-kit/resources/resource'
import { s3Engine } from '@tributary/service-kit/resources/s3'
import type { Service } from '@tributary/service-kit/service/run-service'
import { startRawEpoch } from '@tributary/tables/raw/stamps'
import { listAppFacts } from '@tributary/tenancy/companies/tenants'
import { postbackKeysResource } from '@tributary/tenancy/postbacks/postback-keys'
import { masterKeysResource } from '@tributary/tenancy/resources'
import { readEngineSettings } from '../config.ts'
import { CliError } from '../errors.ts'
import { withService } from './brief-service.ts'
import { refuseStandalone } from './rebuild.ts'
import { readLogAgain, requireOthersStopped } from './stopped-writers.ts'

/** A statement copies or compares a million rows, on a busy server. */
const statement_ms_min = 600_000

const resources = {
  broker: kafkaEngine(),
  live: clickhouseEngine({ complete_reads: true }),
  audit: s3Engine,
  postgres: postgresEngine,
  masterKeys: masterKeysResource,
  postbackKeys: postbackKeysResource,
}
const required = Object.values(resources).flatMap((one) => one.required)
const names = [
  ...Object.values(resources).flatMap((one) => [...one.settings, ...one.required]),
  ...(['TRIBUTARY_CLICKHOUSE_REPLICATED', 'TRIBUTARY_CLICKHOUSE_CLUSTER'] as const),
]

/**
 * Builds the tables of events, clicks and postbacks of the ClickHouse server again from the bucket, in a database beside the live one, and
 * puts them in their place. Throws CliError `writers_running` unless all writers are stopped, `rebuild_running` while another rebuild, an
 * erasure or retention is at work, `swap_unfinished` for a dry run after a swap that was broken off. May be killed and repeated.
 */
export function rebuildServerFromAudit(dry_run: boolean, reading: Progress): Promise<RebuiltFromAudit> {
  refuseStandalone(
    'Stop standalone, remove the folder clickhouse of its data folder, start it, and run: npx tributary replay --from-audit',
  )
  const given = readEngineSettings(names, required)
  const query_ms = Math.max(given.TRIBUTARY_CLICKHOUSE_QUERY_TIMEOUT_MS, statement_ms_min)
  const config = { ...given, TRIBUTARY_CLICKHOUSE_QUERY_TIMEOUT_MS: query_ms }
  return withService(async (service) => {
    const { broker, live, audit, postgres, masterKeys, postbackKeys } = await openResources(
      resources,
      config as never,
      service,
    )
    const requireStopped = async () => {
      await readLogAgain(broker)
      await requireOthersStopped(broker)
    }
    // At once, because a rebuild may take hours.
    if (!dry_run) await requireStopped()
    const work = async (signal: AbortSignal, held: () => Promise<void>) => {
      const { scratch, drop } = await openScratch(config, service, await databaseOf(live))
      const { now, logger } = service
      const rebuilt = await rebuildFromAudit(
        {
          ...{ live, scratch, audit, postbackKeys, now, reading, logger, signal },
          apps: await listAppFacts(postgres),
          tombstones: openTombstones({ pool: postgres, masterKeys }),
          async requireStopped() {
            await held()
            await requireStopped()
          },
          onSwapped: () => startRawEpoch(postgres),
        },
        { dry_run },
      ).catch(toCliError)
      await drop()
      return rebuilt
    }
    // Neither deletes rows or rewrites objects meanwhile.
    const done = await unlessRunning(postgres, retention_lock, () => unlessRunning(postgres, raw_events_lock, work))
    if (done?.result) return done.result.result
    throw new CliError('rebuild_running', 'Retention, an erasure or another rebuild is at work. Wait until it ends.')
  })
}

type Config = Parameters<typeof openClickhouse>[0] & {
  TRIBUTARY_CLICKHOUSE_REPLICATED?: boolean | undefined
  TRIBUTARY_CLICKHOUSE_CLUSTER?: string | undefined
}

/** The database beside the live one, with the tables of this version. */
async function openScratch(config: Config, service: Service, live: string) {
  const { TRIBUTARY_CLICKHOUSE_REPLICATED: replicated = false, TRIBUTARY_CLICKHOUSE_CLUSTER: on_cluster } = config
  const name = scratchOf(live)
  const open = (database: string) => {
    const url = Object.assign(new URL(config.TRIBUTARY_CLICKHOUSE_URL), { pathname: `/${database}` })
    return openClickhouse({ ...config, TRIBUTARY_CLICKHOUSE_URL: url.href }, service, { complete_reads: true })
  }
  const server = await open('default')
  const everywhere = on_cluster === undefined ? '' : ` ON CLUSTER ${textLiteral(on_cluster)}`
  await server.command(`CREATE DATABASE IF NOT EXISTS ${name}${everywhere}`)
  const scratch = await open(name)
  await migrateClickhouse({
    clickhouse: scratch,
    parameters: { replicated, ...(on_cluster !== undefined && { on_cluster }) },
  })
  return { scratch, drop: () => server.command(`DROP DATABASE ${name}${everywhere} SYNC`) }
}

function toCliError(error: unknown): never {
  if (error instanceof SwapUnfinishedError)
    throw new CliError('swap_unfinished', 'A rebuild was broken off while it swapped tables. Run it without --dry-run.')
  if (error instanceof RebuildRunningError) throw new CliError('rebuild_running', error.message)
  throw error
}
