import { finished, type Readable } from 'node:stream'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { memorySettings, settingsSql } from '@tributary/clickhouse/settings-sql'
import { limits } from '@tributary/contracts/limits'
import { type RawTableName, rawTableNames, rawTables, rawTypes } from '@tributary/contracts/raw-tables'
import { rawErasuresSql } from '@tributary/tables/raw/raw-erasures'
import { type RawWindow, rawSql } from '@tributary/tables/raw/raw-sql'
import { sealRaw, sealVerdicts } from '@tributary/tables/raw/seal'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import type { Authorize } from '../authorize.ts'
import { createSlots } from '../turns/slots.ts'
import { endStalled } from './end-stalled.ts'
import { parseRaw } from './raw-parameters.ts'

export interface RawDeps {
  pool: Pool
  clickhouse: Pick<Clickhouse, 'stream'>
  /** Without progress for so long a reader is cut off. */
  stalled_ms_max?: number
}

interface RawRouteDeps extends RawDeps {
  authorize: Authorize
  embedded?: boolean
  logger: Logger
}

const formats = { jsonl: 'JSONEachRow', parquet: 'Parquet' } as const

/** GET /api/v1/raw/{events,clicks,installs,receipts,erasures}: rows by the time of storing (docs/raw.md). */
export function rawRoute(app: FastifyInstance, deps: RawRouteDeps): void {
  const { authorize, pool, clickhouse, embedded = false, logger, stalled_ms_max = limits.raw_stalled_ms_max } = deps
  const takeSlot = createSlots(limits.raw_answers_max, 'raw answer')

  async function answer(name: RawTableName, request: FastifyRequest, reply: FastifyReply): Promise<Readable> {
    const { app_id, key_id } = await authorize(request, reply)
    const asked = parseRaw(request.query as Record<string, unknown>)
    const release = takeSlot(app_id)
    // The engine may think for longer than a silent connection is kept.
    reply.raw.setTimeout(0, () => {})
    const gone = new AbortController()
    finished(reply.raw, { readable: false }, () => {
      gone.abort()
      release()
    })
    const { complete_until_ms, epoch } = await seal(name, app_id)
    const end_ms = Math.max(asked.since_ms, Math.min(asked.until_ms, complete_until_ms))
    const { sql, until_ms } = await selectOf(name, { app_id, since_ms: asked.since_ms, until_ms: end_ms })
    const statement = `${sql} SETTINGS ${settingsSql(statementSettings(embedded))}`
    const stream = await clickhouse.stream(statement, { format: formats[asked.format], signal: gone.signal })
    stream.once('error', (err) => logger.warn({ err, request_id: request.id, app_id, key_id }, 'raw answer broken off'))
    reply.headers({
      'content-type': rawTypes[asked.format],
      'cache-control': 'private, no-store',
      'x-until-ms': String(until_ms),
      'x-complete-until-ms': String(complete_until_ms),
      'x-raw-epoch': epoch,
    })
    endStalled(reply.raw, stalled_ms_max)
    return stream
  }

  const seal = (name: RawTableName, app_id: string) =>
    name === 'receipts' ? sealVerdicts(pool, app_id) : sealRaw(pool, rawTables[name].written_by)

  const selectOf = async (name: RawTableName, window: RawWindow) =>
    name === 'erasures' ? await rawErasuresSql(pool, window) : { sql: rawSql(name, window), until_ms: window.until_ms }

  for (const name of rawTableNames) {
    app.get(`/api/v1/raw/${name}`, async (request, reply) => reply.send(await answer(name, request, reply)))
  }
}

/** Reports of others go on meanwhile. The embedded engine has settings of its own for these statements. */
const statementSettings = (embedded: boolean) => ({
  max_threads: embedded ? 1 : limits.report_threads_max,
  ...memorySettings(embedded ? limits.embedded_raw_memory_bytes_max : limits.report_memory_bytes_max),
})
