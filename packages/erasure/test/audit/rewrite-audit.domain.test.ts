import { randomUUID } from 'node:crypto'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rewriteAudit } from '../../src/audit/rewrite-audit.ts'
import { rewrittenAt } from '../../src/audit/rewritten-mark.ts'
import { type Audited, auditedObject, erased, mark_ms, putObject, textsIn } from './audited-requests.ts'

const now_ms = mark_ms + 3_600_000
const company_id = 'co_1'
const installs = erased.map((install_uuid) => ({ install_uuid, mark_ms }))
const never = new AbortController().signal
const nothing = '{"body":null}'

function rewriteOf(audit: ReturnType<typeof memoryAuditStore>, app_id: string) {
  return rewriteAudit({ audit, company_id, app_id, installs, now: () => now_ms, signal: never })
}

test('objects hold what they held without the erased events, to the byte, and other apps all of theirs', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(auditedObject, { minLength: 1, maxLength: 8 }), async (objects) => {
      const audit = memoryAuditStore()
      const [app_id, other] = [`app_${randomUUID()}`, `app_${randomUUID()}`]
      const keys = objects.map((requests, n) => putObject(audit, company_id, app_id, requests, n))
      // The same requests in another app, in another company, and what is no request.
      for (const [n, requests] of objects.entries()) {
        putObject(audit, company_id, other, requests, n)
        putObject(audit, 'co_2', other, requests, n)
      }
      audit.objects.set(
        `${app_id}/privacy/2026-06-10/${erased[0]}~${mark_ms}.json`,
        Buffer.from(`{"install_uuid":"${erased[0]}"}`),
      )
      const before = new Map(audit.objects)

      const counts = await rewriteOf(audit, app_id)

      const rewritten = objects.filter((requests) => requests.some(({ installs }) => installs.length > 0))
      expect(counts).toMatchObject({
        objects_read: keys.length,
        objects_rewritten: rewritten.length,
        objects_unreadable: 0,
      })
      expect(counts.rewritten_of).toEqual(countInstalls(rewritten))
      for (const [n, key] of keys.entries()) {
        const requests = objects[n]!
        const left = requests.flatMap(({ rest }) => (rest === null ? [] : [rest]))
        const isRewritten = rewritten.includes(requests)
        const content = (await audit.get(key))!
        expect(rewrittenAt(content)).toBe(isRewritten ? now_ms : null)
        expect(textsIn(key, content)).toEqual(left.length === 0 && requests[0]!.source !== 'sdk' ? [nothing] : left)
        if (!isRewritten) expect(content).toBe(before.get(key))
        before.delete(key)
      }
      for (const [key, content] of before) expect(audit.objects.get(key)).toBe(content)
      const after = new Map(audit.objects)
      expect((await rewriteOf(audit, app_id)).objects_rewritten).toBe(0)
      expect(audit.objects).toEqual(after)
    }),
    { numRuns: 300 },
  )
})

function countInstalls(objects: Audited[][]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const requests of objects) {
    for (const install of new Set(requests.flatMap(({ installs }) => installs)))
      counts.set(install, (counts.get(install) ?? 0) + 1)
  }
  return counts
}
