import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import type { Pool } from 'pg'
import { expect, test } from 'vitest'
import { areEventsGone } from '../src/whole/events-gone.ts'

/** Asks an installation with an app, an empty log and empty tables, whose audit store holds these objects. */
async function ask(...keys: string[]): Promise<boolean> {
  const audit = memoryAuditStore()
  for (const key of keys) await audit.putOnce(key, Buffer.from('x'))
  const pool = { query: async () => ({ rows: [{ app_id: 'app_1', company_id: 'co_1' }] }) } as unknown as Pool
  return areEventsGone({
    clickhouse: { query: async () => [] },
    broker: { groupOffsets: async () => [] },
    audit,
    pool,
  })
}

test('requests of apps in the audit store tell of lost events; clicks, postbacks, notifications and what doctor tries do not', async () => {
  const others = [
    'clicks/2026/06/01/log/0/0-9.jsonl.gz',
    'postbacks/skan/2026/06/01/1-a-1.jsonl.gz',
    'notifications/2026/06/01/1-a-1.jsonl.gz',
    'doctor/write-once',
  ]
  expect(await ask()).toBe(false)
  expect(await ask(...others)).toBe(false)
  for (const key of ['audit/2026/06/01/co_1/app_1/1-a-1.jsonl.gz', 'app_1/s2s/2026-06-01/a.json'])
    expect(await ask(...others, key)).toBe(true)
})
