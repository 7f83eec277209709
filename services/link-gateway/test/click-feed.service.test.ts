import { clicksKey, type FeedWrite, followed_key } from '@tributary/contracts/admin/live/feed'
import type { FollowedClick } from '@tributary/contracts/admin/live/follow'
import { limits } from '@tributary/contracts/limits'
import { expect, it, onTestFinished, vi } from 'vitest'
import { agents, buildLink, clickTimes, openGateway } from './gateway.ts'

/** A gateway whose timers are those of the test. */
async function openFollowed(links: ReturnType<typeof buildLink>[]) {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const gateway = await openGateway({ links })
  const writesOf = async (link_id: string) =>
    (await gateway.keyValue.read(clicksKey(link_id), 0, 256)).texts.map(
      (text) => JSON.parse(text) as FeedWrite<FollowedClick>,
    )
  return {
    ...gateway,
    writesOf,
    follow: async (...ids: string[]) => {
      await gateway.keyValue.append(followed_key, JSON.stringify(ids), 10, 60_000)
      await vi.advanceTimersByTimeAsync(limits.live_watch_ms)
    },
    flush: () => vi.advanceTimersByTimeAsync(limits.live_flush_ms),
  }
}

it('shows whoever follows a link its clicks and why some attribute nothing, and writes nothing of other links', async () => {
  const [link, off, unseen] = [buildLink(), buildLink({ enabled: false }), buildLink()]
  const { click, clicks, follow, flush, writesOf } = await openFollowed([link, off, unseen])
  await click(link)
  await follow(link.link_id, off.link_id)
  await click(link, { agent: agents.preview })
  await click(link, { query: `?click_id=${'x'.repeat(600)}` })
  await click(link, { headers: { purpose: 'prefetch' } })
  await click(link, { agent: agents.desktop })
  await click(off)
  await click(unseen)
  await flush()
  const [write] = await writesOf(link.link_id)
  const recorded = clicks().filter(({ ext_click_id }) => ext_click_id !== null)
  expect(write!.items).toMatchObject([
    { stopped: 'bot', click_id: null },
    { stopped: null, click_id: recorded[0]!.click_id, country: 'DE', os: 'android', ext_click_id: 'x'.repeat(64) },
    { stopped: 'prefetch', click_id: null },
    { stopped: 'desktop', click_id: null, os: null },
  ])
  expect(JSON.stringify(write)).not.toContain('192.0.2.')
  expect((await writesOf(off.link_id))[0]!.items).toMatchObject([{ stopped: 'disabled' }])
  expect(await writesOf(unseen.link_id)).toEqual([])
})

it('writes few clicks at a time, however many come, and counts the rest; a store that is away changes no redirect', async () => {
  const link = buildLink()
  const { click, follow, flush, keyValue, writesOf } = await openFollowed([link])
  await follow(link.link_id)
  const many = (count: number) => clickTimes(count, (n) => click(link, { ip: `192.0.${n % 200}.${n % 7}` }))
  await many(300)
  await flush()
  keyValue.fault = new Error('away')
  const answers = await many(20)
  await flush()
  keyValue.fault = null
  await click(link)
  await flush()
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([302]))
  const writes = await writesOf(link.link_id)
  expect(writes.map(({ before, total, items }) => [before, total, items.length])).toEqual([
    [0, 300, limits.follow_clicks_of_write_max],
    [300, 321, 1],
  ])
})
