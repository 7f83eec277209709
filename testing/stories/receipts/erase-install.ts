import { type EraserDeps, runErasures } from '@tributary/eraser/run-erasures'
import { queueErasures } from '@tributary/erasure/queue-erasures'
import { requestRun } from '@tributary/erasure/runs'
import { noteLog } from '@tributary/erasure/unread-events'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { memoryRedecisions } from '@tributary/testing/twins/memory-redecisions'
import { pino } from 'pino'
import type { ReceiptStage } from './receipt-stage.ts'

/** Erases an install of the stage, killed before these steps of the whole, which are counted on. */
export async function eraseInstall(stage: ReceiptStage, install_uuid: string, kills: readonly number[] = []) {
  const mark_ms = stage.now()
  const { pool, masterKeys, app_id, broker, clickhouse } = stage
  stage.erased.erase(app_id, install_uuid, mark_ms)
  await queueErasures({ pool, masterKeys }, [{ app_id, install_uuid, requested_at_ms: mark_ms, asked_by: 'admin' }])
  const deps: EraserDeps = {
    ...{ pool, masterKeys, clickhouse, redecisions: memoryRedecisions(), keyValue: memoryKeyValue(() => mark_ms) },
    ...{ now: () => mark_ms, noteLog: () => noteLog(broker), findOlderWork: async () => [], pause: async () => {} },
    audit: {
      findAudited: async () => new Map(),
      rewriteApp: async () => new Map(),
      rewriteArchives: async () => new Map(),
      rewriteNoted: async () => {},
    },
    logger: pino({ level: 'silent' }),
  }
  for (const kill of [...kills, Number.POSITIVE_INFINITY]) {
    let left = kill
    const atStep = () => {
      left -= 1
      if (left < 0) throw new Error('killed')
    }
    const run = await requestRun(pool, mark_ms)
    await pool.query('UPDATE erasure_runs SET begun_at_ms = $2 WHERE run = $1', [run, mark_ms])
    await runErasures({ ...deps, atStep }, run, new AbortController().signal).catch((err: Error) => {
      if (err.message !== 'killed') throw err
    })
  }
}
