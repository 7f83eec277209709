import { gunzipSync } from 'node:zlib'
import { createGroupCommit } from '@tributary/audit-store/group-commit'
import { limits } from '@tributary/contracts/limits'
import { sdkEvent } from '@tributary/testing/builders'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { expect, test } from 'vitest'
import { openGateway } from './gateway.ts'

test('the bounds of a shared audit object are those of docs/rules.md#audit-objects', () => {
  expect([limits.audit_group_linger_ms, limits.audit_group_bytes_max]).toEqual([50, 4 * 1024 * 1024])
})

test('requests of one app at the same time share an object and its key, another app has its own', async () => {
  const store = memoryAuditStore()
  const groupCommit = createGroupCommit({
    ...{ store, now: Date.now, gateway: '1a2b3c4d' },
    ...{ linger_ms: limits.audit_group_linger_ms, bytes_max: limits.audit_group_bytes_max },
  })
  const gateway = await openGateway({ groupCommit })
  const body = (n: number) =>
    JSON.stringify({ events: [sdkEvent({ event_id: `e-${n}`, event_ts_ms: gateway.now_ms })] })
  const sent = [0, 1, 2, 3].map((n) => gateway.event(body(n), {}, n === 3 ? gateway.other : gateway.tenant))
  const keys = (await Promise.all(sent)).map((answer) => answer.json().audit_key as string)
  expect(keys[0]).toMatch(/^audit\/2026\/06\/01\/co_\w+\/app_\w+\/\d{13}-1a2b3c4d-\d+\.jsonl\.gz$/)
  expect(new Set(keys.slice(0, 3)).size).toBe(1)
  expect(keys[3]).toContain(`/${gateway.other.app.app_id}/`)
  expect([...store.objects.keys()].sort()).toEqual([keys[0], keys[3]].sort())
  const lines = gunzipSync(store.objects.get(keys[0]!)!).toString().trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line).body.events[0].event_id).sort()).toEqual(['e-0', 'e-1', 'e-2'])
  expect(
    gateway
      .envelopes()
      .map(({ audit_key }) => audit_key)
      .sort(),
  ).toEqual([...keys].sort())
})
