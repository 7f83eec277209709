import { pipeline, type Readable, Transform } from 'node:stream'
import type { ClickHouseClient } from '@clickhouse/client'
import type { StreamOptions } from '../clickhouse.ts'

/** A server writes at most 16 KiB about an error behind the rows, in a frame with its tag. */
const error_bytes_max = 32 * 1024

/** The answer of a server as it comes. A server that fails in the midst of rows says so behind them: then the stream fails. */
export async function streamAnswer(
  client: ClickHouseClient,
  sql: string,
  { format, signal, http_headers }: StreamOptions & { http_headers?: Record<string, string> },
): Promise<{ stream: Readable; headers: Record<string, string | string[] | undefined> }> {
  const { stream, response_headers: headers } = await client.exec({
    query: `${sql} FORMAT ${format}`,
    abort_signal: signal,
    ...(http_headers && { http_headers }),
    clickhouse_settings: {
      readonly: '2',
      wait_end_of_query: 0,
      cancel_http_readonly_queries_on_client_close: 1,
      output_format_json_quote_64bit_integers: 0,
    },
  })
  const tag = headers['x-clickhouse-exception-tag']
  return { stream: pipeline(stream, withoutError(typeof tag === 'string' ? tag : ''), () => {}), headers }
}

/** Holds the end of the answer back until it is seen that no error stands there. */
function withoutError(tag: string): Transform {
  let held = Buffer.alloc(0)
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const all = Buffer.concat([held, chunk])
      const passed = Math.max(0, all.length - error_bytes_max)
      held = all.subarray(passed)
      done(null, all.subarray(0, passed))
    },
    flush(done) {
      const error = held.indexOf(`__exception__\r\n${tag}`)
      if (error < 0) done(null, held)
      else done(new Error(`ClickHouse broke an answer off: ${held.subarray(error, error + 500)}`))
    },
  })
}
