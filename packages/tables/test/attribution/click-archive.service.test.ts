import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { KeptClick } from '@tributary/contracts/attribution/decision'
import { limits } from '@tributary/contracts/limits'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { expect, test } from 'vitest'
import { archiveClicks, readClickArchives } from '../../src/attribution/click-archive.ts'

const source = 'clicks.recorded.v1@01jd-log'
const batch = (from: number, to: number, day: string) => ({ source, partition: 3, from, to, day })

function clickAt(offset: number): KeptClick {
  const none = { campaign: null, ad_group: null, creative: null, ext_click_id: null, deep_link: null, country: null }
  const subs = { sub1: 'Zürich "1"\n', sub2: null, sub3: null, sub4: null, sub5: null }
  return {
    ...{
      v: 1,
      click_id: `018f0000-0000-7${randomUUID().slice(15)}`,
      company_id: 'co_1',
      app_id: 'app_1',
      link_id: 'l',
    },
    ...{ partner: 'acme', ...none, ...subs, lookback_hours: null, clicked_at_ms: 1, filtered_reason: null },
    ...{ ip: '192.0.2.1', user_agent: '', os: null, os_major: null, model: null, device_hashes: ['d'] },
    place: { topic: source, partition: 3, offset, index: 0 },
  }
}

test('an archive gives back the clicks of its batch with their positions', async () => {
  const audit = memoryAuditStore()
  const clicks = [clickAt(7), clickAt(9)]
  await archiveClicks(audit, batch(7, 9, '2026-01-02'), clicks)
  expect(await Array.fromAsync(readClickArchives(audit))).toEqual([
    { key: 'clicks/2026/01/02/01jd-log/3/7-9.jsonl.gz', clicks },
  ])
})

test('archives are read from a day on, a day after the other, whatever else is in the store', async () => {
  const audit = memoryAuditStore()
  await audit.putOnce('audit/2026/01/05/co_1/app_1/1-g-1.jsonl.gz', Buffer.from('x'))
  for (const [n, day] of ['2026-02-01', '2025-12-31', '2026-01-02', '2026-01-01'].entries()) {
    await archiveClicks(audit, batch(n, n, day), [clickAt(n)])
  }
  const found = await Array.fromAsync(readClickArchives(audit, '2026-01-01'))
  expect(found.map(({ clicks }) => clicks![0]!.place.offset)).toEqual([3, 2, 0])
})

test('an archive that can not be read is named, and hides no other', async () => {
  const audit = memoryAuditStore()
  const bombs = gzipSync(Buffer.alloc(limits.click_archive_bytes_max + 1))
  for (const [n, content] of [Buffer.from('no gzip'), gzipSync('{"v":1}\n'), gzipSync('{\n'), bombs].entries()) {
    await audit.putOnce(`clicks/2026/01/01/log/0/${n}-${n}.jsonl.gz`, content)
  }
  await archiveClicks(audit, batch(7, 7, '2026-01-01'), [clickAt(7)])
  const found = await Array.fromAsync(readClickArchives(audit))
  expect(found.map(({ clicks }) => clicks?.length ?? null).toSorted()).toEqual([1, null, null, null, null].toSorted())
  expect(found.every(({ key }) => key.startsWith('clicks/2026/01/01/'))).toBe(true)
})
