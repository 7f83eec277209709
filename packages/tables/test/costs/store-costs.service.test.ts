import type { InsertBlock } from '@tributary/clickhouse/clickhouse'
import { limits } from '@tributary/contracts/limits'
import { clickhouseWhenThere } from '@tributary/service-kit/resources/clickhouse'
import { freePorts } from '@tributary/testing/engines/ports'
import type { Pool } from 'pg'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { openCosts } from '../../src/costs/store-costs.ts'

/** A sequence in memory. */
function numbersPool(): Pool {
  let last = 0
  const query = async (_sql: string, [count = 0]: number[] = []) => ({
    rows: Array.from({ length: count }, () => ({ number: String(++last) })),
  })
  return { query, connect: async () => ({ query: async () => ({ rows: [] }), release() {} }) } as never
}

const cost = {
  day: '2026-06-01',
  partner: 'a',
  campaign: '',
  ad_group: '',
  country: '',
  cost_micros: 1,
  currency: 'EUR',
}
const upload = (app_id: string) => ({
  ...{ app_id, as_of_ms: 0, uploaded_at_ms: 1, costs: [{ ...cost, clicks: null, impressions: 2 }] },
})

test('uploads that come while others are stored go together, and beyond a bound they are refused at once', async () => {
  const blocks: InsertBlock[] = []
  const gate = Promise.withResolvers<void>()
  const clickhouse = {
    query: async () => [],
    async insert(block: InsertBlock) {
      blocks.push(block)
      await gate.promise
    },
  }
  const costs = openCosts({ clickhouse, pool: numbersPool() })
  const first = costs.store(upload('first'))
  const waiting = Array.from({ length: limits.cost_uploads_waiting_max }, (_, n) => costs.store(upload(`app_${n}`)))
  await expect(costs.store(upload('late'))).rejects.toMatchObject({ code: 'unavailable' })
  gate.resolve()
  await Promise.all([first, ...waiting])
  expect(blocks.map(({ lines }) => String(lines).split('\n').length)).toEqual([1, limits.cost_uploads_waiting_max])
  expect(JSON.parse(String(blocks[0]?.lines))).toEqual([
    ...['first', '2026-06-01', 'a', '', '', '', 1, 'EUR', null, 2, 0, '1', 1],
  ])
})

test('a process opens while ClickHouse is away: costs alone are unavailable, and the next upload tries again', async () => {
  const [port] = await freePorts(1)
  const closing: (() => Promise<void>)[] = []
  const service = {
    logger: pino({ level: 'silent' }),
    onClose: (_name: string, end: () => Promise<void>) => closing.push(end),
    checks: {},
  }
  const config = {
    TRIBUTARY_CLICKHOUSE_URL: `http://127.0.0.1:${port}`,
    ...{ TRIBUTARY_CLICKHOUSE_CONNECT_TIMEOUT_MS: 1000, TRIBUTARY_CLICKHOUSE_QUERY_TIMEOUT_MS: 1000 },
  }
  const clickhouse = await clickhouseWhenThere.open(config, service as never, undefined)
  const costs = openCosts({ clickhouse, pool: numbersPool() })
  for (const app of ['a', 'b']) {
    await expect(costs.store(upload(app))).rejects.toMatchObject({
      code: 'unavailable',
      headers: { 'retry-after': '1' },
    })
  }
  for (const end of closing) await end()
})
