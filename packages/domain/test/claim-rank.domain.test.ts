import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sources } from '@tributary/contracts/envelope'
import { claimRank } from '@tributary/domain/event-key'
import { expect, test } from 'vitest'

test('the view that fills revenue_raw_v1 gives each source the rank that the writer gives it', async () => {
  const schema = await readFile(join(import.meta.dirname, '../../../clickhouse/schema.sql'), 'utf8')
  const [view] = schema.split(';').filter((statement) => statement.includes('MATERIALIZED VIEW revenue_raw_mv_v1'))
  const [, source, rank, otherwise] = /if\(source = '(\w+)', (\d+), (\d+)\) AS claim_rank/.exec(view!)!
  for (const one of sources) expect(claimRank(one)).toBe(Number(one === source ? rank : otherwise))
})
