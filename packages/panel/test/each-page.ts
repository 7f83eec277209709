import { expect } from 'vitest'
import { findBarriers } from './browser.ts'
import { hostile, type OpenPanel } from './open-panel.ts'

/** A page by its path, and what stands on it once it is there. */
export type PagePath = [path: string, ready: string]

/** Events and names that are hostile texts. */
export async function sendHostile({ admin, sendEvents, demo }: OpenPanel): Promise<void> {
  await admin('PATCH', `/apps/${demo.APP_ID}`, { name: hostile.slice(0, 200) })
  const now = Date.now()
  const event = (n: number, more: object) => ({
    ...{ event_id: `e-${n}`, event_name: 'level_up', event_ts_ms: now - n * 60_000, install_uuid: `i-${n % 3}` },
    ...more,
  })
  const installs = [0, 1, 2].map((n) => event(100 + n, { event_name: 'app_install', install_uuid: `i-${n}` }))
  await sendEvents([...installs, event(1, { event_name: hostile.slice(0, 100) })])
}

/** Looks at pages as an owner who is operator: no barrier, nothing that the policy refuses, no text that became markup. */
export async function lookAt({ windowOf, demo }: OpenPanel, email: string, pages: readonly PagePath[]): Promise<void> {
  const { page, open, faults } = await windowOf(['owner', 'operator'], /status of 401/, email)
  const barriers: string[] = []
  for (const [path, ready] of pages) {
    const [address, given = ''] = path.split('?')
    const words = new URLSearchParams(given)
    if (!words.has('app')) words.set('app', demo.APP_ID ?? '')
    await open(`${address}?${words}`, ready)
    barriers.push(...(await findBarriers(page)))
    expect(await page.locator('img').count()).toBe(0)
  }
  expect(barriers).toEqual([])
  expect(faults).toEqual([])
}
