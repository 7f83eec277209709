import { setTimeout as pause } from 'node:timers/promises'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import type { Page, Route } from 'playwright-core'
import { expect, it } from 'vitest'
import { openPanel, tilesOf } from './open-panel.ts'

const day_ms = 86_400_000
/** Installs of today, and of the days before that only a longer window sees. */
const [young, old] = [2, 5]

await describeWith('Chromium', openPanel, ({ windowOf, sendEvents, demo, url }) => {
  const overview = (range: string) => `overview?app=${demo.APP_ID}&range=${range}`
  const ofTiles = `**/apps/${demo.APP_ID}/overview**`
  const stale = (page: Page) => page.locator('.tile[data-stale]').first()
  const installs = async (page: Page) => (await tilesOf(page)).Installs
  const choose = async (page: Page, range: string) => {
    await page.getByRole('button', { name: /^Dates/ }).click()
    await page.getByRole('radio', { name: range, exact: true }).click()
  }

  it('dims numbers that a slow answer will replace, and never shows them as those of another window, app or page', async () => {
    const now = Date.now()
    const install = (n: number, at_ms: number) => ({
      ...{ event_id: `late-${n}`, event_name: 'app_install', install_uuid: `late-${n}`, event_ts_ms: at_ms },
    })
    await sendEvents([
      ...Array.from({ length: young }, (_, n) => install(n, now - 1000)),
      ...Array.from({ length: old }, (_, n) => install(young + n, now - 10 * day_ms)),
    ])
    const { page, open, faults } = await windowOf(['owner'])
    await open(overview('7d'), '.tile-value')
    await expect.poll(() => installs(page)).toBe(String(young))

    // Each answer takes 2 s from here on.
    const slow = (route: Route) =>
      pause(2000)
        .then(() => route.continue())
        .catch(() => {})
    await page.route('**/admin/api/v1/apps/**', slow)
    await choose(page, '30 days')
    await stale(page).waitFor()
    expect(await installs(page)).toBe(String(young))
    await page.getByText('Loading. Still shown:').first().waitFor()
    await stale(page).waitFor({ state: 'detached' })
    expect(await installs(page)).toBe(String(young + old))

    // Another app begins with nothing, not with the numbers of this one.
    await page.getByRole('button', { name: /Demo Android/ }).click()
    await page.getByRole('option', { name: /Demo iOS/ }).click()
    await page.waitForURL(`**app=${demo.IOS_APP_ID}**`)
    await page.locator('.tile .skeleton').first().waitFor()
    expect(Object.values(await tilesOf(page)).filter((value) => value !== '')).toEqual([])
    await page.locator('.tile .skeleton').first().waitFor({ state: 'detached' })
    expect(await installs(page)).toBe('0')
    await page.unroute('**/admin/api/v1/apps/**', slow)

    // Back and reload keep the state.
    await page.goBack()
    await expect.poll(() => installs(page)).toBe(String(young + old))
    await page.reload()
    await page.locator('.tile-value').first().waitFor()
    await expect.poll(() => installs(page)).toBe(String(young + old))
    await page.goBack()
    await expect.poll(() => installs(page)).toBe(String(young))
    expect(page.url()).toContain('range=7d')

    // Dates may be typed, the last one first.
    const [today, earlier] = [0, 10].map((n) => new Date(now - n * day_ms).toISOString().slice(0, 10)) as [
      string,
      string,
    ]
    await page.getByRole('button', { name: /^Dates/ }).click()
    await page.getByLabel('From', { exact: true }).fill(today)
    await page.getByLabel('To', { exact: true }).fill(earlier)
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await expect.poll(() => page.url()).toContain(`from=${earlier}&to=${today}`)
    await expect.poll(() => installs(page)).toBe(String(young + old))
    expect(faults).toEqual([])
  })

  it('keeps the newer answer when an older one comes after it', async () => {
    const { page, open, faults } = await windowOf(['analyst'])
    await open(overview('7d'), '.tile-value')
    await expect.poll(() => installs(page)).toBe(String(young))
    const held: Route[] = []
    await page.route(ofTiles, (route) => {
      held.push(route)
    })
    await choose(page, '30 days')
    await expect.poll(() => held.length).toBe(1)
    await page.unroute(ofTiles)
    await choose(page, 'Today')
    await expect.poll(() => page.locator('.tile[data-stale]').count()).toBe(0)
    expect(await installs(page)).toBe(String(young))
    // It was cancelled, or its answer comes now: neither is shown.
    await Promise.all(held.map((route) => route.continue().catch(() => {})))
    await choose(page, '7 days')
    await choose(page, 'Today')
    await expect.poll(() => page.locator('.tile[data-stale]').count()).toBe(0)
    expect(await installs(page)).toBe(String(young))
    expect(page.url()).toContain('range=1d')
    expect(faults).toEqual([])
  })

  it('shows what failed with its code, no number in its place, and all of it after another try', async () => {
    const { page, open, faults } = await windowOf(['marketer'], /status of (401|403|400)/)
    await page.route('**/admin/api/v1/apps/**', (route) =>
      route.fulfill({ status: 400, json: { error: 'window_too_long', message: 'The window is too long.' } }),
    )
    await page.goto(`${url}/admin/${overview('7d')}`)
    await page.getByRole('alert').first().waitFor()
    await page.getByText('not loaded').first().waitFor()
    expect(Object.values(await tilesOf(page)).filter((value) => /\d/.test(value))).toEqual([])
    await page.unroute('**/admin/api/v1/apps/**')
    for (const button of await page.getByRole('button', { name: 'Try again' }).all())
      await button.click({ timeout: 5000 }).catch(() => {})
    await expect.poll(() => installs(page)).toBe(String(young))
    await open(`cohorts?app=${demo.APP_ID}`, '.heat')

    // No answer at all.
    await page.route('**/reports/cohorts**', (route) => route.abort())
    await choose(page, '30 days')
    await page.getByText('The service did not answer.').waitFor()
    expect(await page.locator('.heat').count()).toBe(0)
    expect(faults.filter((fault) => !fault.includes('net::ERR_FAILED'))).toEqual([])
  })

  it('ends in each window with its session, and leads back to where each was', async () => {
    const { page, open, context, email } = await windowOf(['admin'])
    await open(`events?app=${demo.APP_ID}`, '.chart, .empty')
    const other = await context.newPage()
    await other.goto(`${url}/admin/${overview('30d')}`)
    await other.locator('.tile-value').first().waitFor()
    await page.getByRole('button', { name: `Account of ${email}` }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.waitForURL('**/admin/sign-in**')
    // Its next request ends it: that of a choice, or one that it makes by itself.
    const ended = other.waitForURL('**/admin/sign-in**')
    await Promise.race([choose(other, '14 days').catch(() => {}), ended])
    await ended
    await other.getByLabel('Email').fill(email)
    await other.getByLabel('Password').fill('a long password of Ada 17')
    await other.getByRole('button', { name: 'Sign in' }).click()
    await other.waitForURL(/overview.*range=(14|30)d/)
    await expect.poll(() => installs(other)).toBe(String(young + old))
  })
})
