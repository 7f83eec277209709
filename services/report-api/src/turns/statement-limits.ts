import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { memorySettings, settingsSql } from '@tributary/clickhouse/settings-sql'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'

type Statements = Pick<Clickhouse, 'query'>

/**
 * The engine for one report that begins now. Each statement carries its own limits of time, memory and threads, because
 * the embedded engine has no profiles and cannot cancel. A statement after the end of the report's time, or after its
 * client left, throws `unavailable`.
 */
export function limitStatements(clickhouse: Statements, memory_bytes_max: number, left?: AbortSignal): Statements {
  const ends_at = performance.now() + limits.report_run_ms_max
  return {
    query(sql, params) {
      const left_ms = ends_at - performance.now()
      if (left_ms <= 0 || left?.aborted) throw new CodedError('unavailable')
      const settings = {
        max_execution_time: Math.ceil(left_ms / 1000),
        ...memorySettings(memory_bytes_max),
        max_result_bytes: limits.report_result_bytes_max,
        result_overflow_mode: 'throw',
        max_threads: limits.report_threads_max,
      }
      return clickhouse.query(`${sql}\nSETTINGS ${settingsSql(settings)}`, params)
    },
  }
}
