import { gunzipSync } from 'node:zlib'
import type { KeptClick } from '@tributary/contracts/attribution/decision'
import { utcDay } from '@tributary/domain/utc-day'
import { archiveClicks, readClickArchives } from '@tributary/tables/attribution/click-archive'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { expect, test } from 'vitest'
import { rewriteClickArchives } from '../../src/audit/rewrite-click-archives.ts'
import { rewrittenAt } from '../../src/audit/rewritten-mark.ts'

const clicked_at_ms = Date.UTC(2026, 5, 9, 23, 59)
const now_ms = clicked_at_ms + 86_400_000
const time = clicked_at_ms.toString(16).padStart(12, '0')
const click_id = (n: number) => `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${`${n}`.padStart(12, '0')}`

function click(n: number, app_id: string): KeptClick {
  const none = { campaign: null, ad_group: null, creative: null, deep_link: null, country: null }
  const subs = { sub1: null, sub2: null, sub3: null, sub4: null, sub5: null }
  return {
    ...{ v: 1, click_id: click_id(n), company_id: 'co_1', app_id, link_id: 'l', partner: 'acme', ...none, ...subs },
    // A partner's own id of another click may be the id of an erased one.
    ...{ ext_click_id: click_id(1), lookback_hours: null, clicked_at_ms, filtered_reason: null, ip: '192.0.2.1' },
    ...{ user_agent: '', os: null, os_major: null, model: null, device_hashes: [] },
    place: { topic: 'clicks.recorded.v1@log', partition: 0, offset: n, index: 0 },
  }
}

const batch = (from: number, logged_ms: number) => ({
  source: 'clicks.recorded.v1@log',
  partition: 0,
  from,
  to: from,
  day: utcDay(logged_ms),
})

test('archives lose the erased clicks of their app alone, also where a replay archived them again', async () => {
  const audit = memoryAuditStore()
  const clicks = [click(1, 'app_1'), click(2, 'app_1'), click(1, 'app_2'), click(3, 'app_2')]
  const days = [clicked_at_ms - 86_400_000, clicked_at_ms, clicked_at_ms + 5 * 86_400_000]
  for (const [n, logged_ms] of days.entries()) await archiveClicks(audit, batch(n, logged_ms), clicks)
  await archiveClicks(audit, batch(7, clicked_at_ms), clicks.slice(1))
  await archiveClicks(audit, batch(8, clicked_at_ms - 3 * 86_400_000), [click(9, 'app_1')])
  const before = new Map(audit.objects)
  const erased = [
    { app_id: 'app_1', click_id: click_id(1), install_uuid: 'i-1' },
    { app_id: 'app_2', click_id: click_id(3), install_uuid: 'i-2' },
    { app_id: 'app_2', click_id: click_id(2), install_uuid: 'i-3' },
  ]
  const rewrite = () =>
    rewriteClickArchives({
      audit,
      clicks: erased,
      since_ms: now_ms,
      now: () => now_ms,
      signal: new AbortController().signal,
    })

  expect(await rewrite()).toEqual({
    ...{ objects_read: 4, objects_rewritten: 4, objects_unreadable: 0, unreadable_in: new Map() },
    rewritten_of: new Map([
      ['i-1', 3],
      ['i-2', 4],
    ]),
  })
  const archives = await Array.fromAsync(readClickArchives(audit))
  for (const { key, clicks: left } of archives) {
    if (key.endsWith('8-8.jsonl.gz')) expect(audit.objects.get(key)).toBe(before.get(key))
    else expect([left, rewrittenAt(audit.objects.get(key)!)]).toEqual([[clicks[1], clicks[2]], now_ms])
  }
  const lines = (content: Buffer) => gunzipSync(content).toString().split('\n')
  for (const [key, content] of audit.objects)
    expect(lines(before.get(key)!)).toEqual(expect.arrayContaining(lines(content)))
  expect((await rewrite()).objects_rewritten).toBe(0)
})
