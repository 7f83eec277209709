import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
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
        max_memory_usage: memory_bytes_max,
        max_result_bytes: limits.report_result_bytes_max,
        result_overflow_mode: `'throw'`,
        // A third stays in memory and the rest goes to the disk, because merging from the disk takes memory too.
        max_bytes_before_external_group_by: Math.floor(memory_bytes_max / 3),
        max_bytes_before_external_sort: Math.floor(memory_bytes_max / 3),
        max_bytes_before_external_join: Math.floor(memory_bytes_max / 3),
        max_threads: limits.report_threads_max,
      }
      const list = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
      return clickhouse.query(`${sql}\nSETTINGS ${list.join(', ')}`, params)
    },
  }
}
