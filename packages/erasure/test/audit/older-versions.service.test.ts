import { randomUUID } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { expect, test } from 'vitest'
import { rewriteAudit } from '../../src/audit/rewrite-audit.ts'

const now_ms = Date.UTC(2026, 5, 10, 12)
const company_id = 'co_1'
const headers = { 'user-agent': '', 'x-service-sdk': '', 'x-service-platform': '' }
const line = (...ids: string[]) =>
  `${JSON.stringify({ received_at_ms: now_ms - 120_000, ip: '', headers, body: { events: ids.map((install_uuid) => ({ install_uuid, event_name: 'e' })) } })}\n`

test.each([
  ['lies behind now', -60_000],
  ['lies ahead of now', 5 * 3_600_000],
])(
  'the older version in a bucket that a crash left goes with the next run, when the mark %s',
  async (_which, ahead_ms) => {
    const app_id = `app_${randomUUID()}`
    const key = `audit/2026/06/10/${company_id}/${app_id}/${now_ms}-g-1.jsonl.gz`
    const store = memoryAuditStore()
    store.objects.set(key, gzipSync(line('gone') + line('stays')))
    /** Older versions of a bucket with versions, as s3-rewrite.ts leaves and removes them. */
    let older: Buffer[] = []
    let dies = true
    const audit = {
      ...store,
      async replace(of: string, previous: Buffer, content: Buffer) {
        const outcome = await store.replace(of, previous, content)
        if (outcome === 'changed') return outcome
        if (!content.equals(previous)) older.push(previous)
        if (dies) throw new Error('killed behind the put')
        older = []
        return outcome
      },
    }
    const installs = [{ install_uuid: 'gone', mark_ms: now_ms + ahead_ms }]
    const since_ms = now_ms - 1000 // when the run began
    const options = {
      audit,
      company_id,
      app_id,
      installs,
      since_ms,
      now: () => now_ms,
      signal: new AbortController().signal,
    }
    await expect(rewriteAudit(options)).rejects.toThrow('killed')
    dies = false
    await rewriteAudit(options)
    expect(older.map((one) => gunzipSync(one).toString()).join('')).not.toContain('gone')
  },
)
