import { join } from 'node:path'
import { buildTenant } from '@tributary/testing/builders'
import { Pool } from 'undici'
import { type Aim, type Bench, numberArgument, percentile, profileFlags } from '../bench.ts'
import { startProcess } from '../process/drive-process.ts'
import type { SchemaOrder } from './schema-gateway.ts'

const connections = 32
const warm_seconds = 2

/** Closed loop over `connections`: as many answers as the gateway gives. */
export const bench: Bench = {
  name: 'cv-schema',
  title:
    'cv-schema: apps that read their schema, whole (200) or by its tag (304) (--seconds 5 --values 64 --cpu-prof F)',
  async run(args) {
    const tenant = buildTenant('ios')
    const order: SchemaOrder = { tenant, values: numberArgument(args, 'values', 64) }
    const gateway = await startProcess(join(import.meta.dirname, 'schema-gateway.ts'), order, profileFlags(args))
    const keys = { 'x-service-company-key': tenant.company_key, 'x-service-app-key': tenant.app_key }
    const seconds = numberArgument(args, 'seconds', 5)
    const { etag } = await read(gateway.port, keys, Math.min(warm_seconds, seconds))
    const rows = []
    for (const [answer, headers] of [
      ['200', keys],
      ['304', { ...keys, 'if-none-match': etag }],
    ] as const) {
      gateway.startWatch()
      const { ms, statuses } = await read(gateway.port, headers, seconds)
      const { cpu_seconds } = await gateway.stopWatch()
      if (statuses.size !== 1 || !statuses.has(Number(answer))) throw new Error(`answered ${[...statuses]}`)
      rows.push({
        answer,
        answers_per_second: Math.round(ms.length / seconds),
        answers_per_cpu_second: Math.round(ms.length / cpu_seconds),
        p99_ms: Math.round(percentile(ms, 0.99) * 10) / 10,
      })
    }
    await gateway.stop()
    return { rows, aims: rows.map(toAim) }
  },
}

const per_cpu_second_min = 5000

const toAim = (row: { answer: string; answers_per_cpu_second: number }): Aim => ({
  what: `answers ${row.answer} per CPU second`,
  aim: `>= ${per_cpu_second_min}`,
  measured: row.answers_per_cpu_second,
  met: row.answers_per_cpu_second >= per_cpu_second_min,
})

async function read(port: number, headers: Record<string, string>, seconds: number) {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1 })
  const ms: number[] = []
  const statuses = new Set<number>()
  let etag = ''
  const until = performance.now() + seconds * 1000
  const readOn = async () => {
    while (performance.now() < until) {
      const began = performance.now()
      const answer = await pool.request({ method: 'GET', path: '/skan/cv-schema', headers })
      await answer.body.dump()
      ms.push(performance.now() - began)
      statuses.add(answer.statusCode)
      etag = String(answer.headers.etag)
    }
  }
  await Promise.all(Array.from({ length: connections }, readOn))
  await pool.close()
  return { ms, statuses, etag }
}
