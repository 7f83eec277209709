import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import type { Page } from 'playwright-core'
import { beforeAll, expect, it } from 'vitest'
import { openPanel, tilesOf } from '../open-panel.ts'

const scripts = '**/admin/assets/*.js'

/** How often the page was loaded as a whole from now on. */
function countLoads(page: Page): () => number {
  let loads = 0
  page.on('request', (request) => {
    if (request.isNavigationRequest()) loads += 1
  })
  return () => loads
}

await describeWith('Chromium', openPanel, ({ windowOf, demo, sendEvents }) => {
  beforeAll(() =>
    sendEvents([{ event_id: 'e-1', event_name: 'app_install', install_uuid: 'i-1', event_ts_ms: Date.now() - 1000 }]),
  )

  const overview = `overview?app=${demo.APP_ID}&range=30d`
  const link = (page: Page, name: string) => page.locator('.rail').getByRole('link', { name: new RegExp(`^${name}`) })

  it('reloads a tab from before an upgrade once, when a page or a dialog is opened, and keeps its address', async () => {
    const { page, open } = await windowOf(['analyst'], /status of 40[14]|dynamically imported/)
    const loads = countLoads(page)
    for (const [leave, stays] of [
      [() => link(page, 'Cohorts').click(), '/admin/cohorts'],
      [() => page.getByRole('button', { name: /^Dates/ }).click(), '/admin/overview'],
    ] as const) {
      await open(overview, '.chart, .empty')
      const before = loads()
      // The files of the old version are gone; a new document names those of the new one.
      let upgraded = false
      await page.route(scripts, (route) => (upgraded ? route.continue() : route.fulfill({ status: 404 })))
      await page.route('**/admin/*?*', (route) => {
        upgraded ||= route.request().isNavigationRequest()
        return route.continue()
      })
      // That the pointer comes near loads nothing again: somebody may be filling in a form.
      const missing = page.waitForResponse((answer) => answer.status() === 404)
      await link(page, 'Events').hover()
      await missing
      expect(loads()).toBe(before)
      await leave()
      await expect.poll(loads).toBe(before + 1)
      await page.locator('.tile-value, .heat').first().waitFor()
      const { pathname, searchParams } = new URL(page.url())
      expect([pathname, searchParams.get('app'), searchParams.get('range')]).toEqual([stays, demo.APP_ID, '30d'])
      expect(loads()).toBe(before + 1)
      await page.unrouteAll()
    }
  })

  it('does not reload for ever for a file that stays away, and says what to do', async () => {
    const { page, open } = await windowOf(['marketer'], /status of 40[14]|dynamically imported/)
    await open(overview, '.chart, .empty')
    const asked = page.waitForRequest((request) => /\/page-[^/]*\.js$/.test(request.url()))
    await link(page, 'Cohorts').click()
    await page.locator('.heat').waitFor()
    const missing = (await asked).url()

    await page.route(missing, (route) => route.fulfill({ status: 404 }))
    await open(overview, '.chart, .empty')
    const loads = countLoads(page)
    await link(page, 'Cohorts').click()
    await page.getByText('Reload the page.').waitFor()
    expect(loads()).toBe(1)
    expect(page.url()).toContain(`/admin/cohorts?app=${demo.APP_ID}&range=30d`)
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('.heat').waitFor()
  })

  it('shows the answers of a newer service, with fields, words and errors that it does not know', async () => {
    const { page, open, faults } = await windowOf(['admin'], /status of 40[19]/)
    await page.route(`**/apps/${demo.APP_ID}/overview**`, async (route) => {
      const answer = await (await route.fetch()).json()
      await route.fulfill({
        json: { ...answer, tiles: { ...answer.tiles, refunds: { now: 1, before: 2 } }, colour: 7 },
      })
    })
    await page.route('**/reports/attribution**', async (route) => {
      const { meta } = await (await route.fetch()).json()
      const [day] = new Date(meta.since_ms).toISOString().split('T')
      const row = { ...{ day, partner: 'adnet', attribution_type: 'by_satellite' }, installs: 4, altitude: 3 }
      await route.fulfill({ json: { meta: { ...meta, rows: 1 }, rows: [row] } })
    })
    await open(`${overview}&table=partners`, '.tile-value')
    expect((await tilesOf(page)).Installs).toMatch(/^\d+$/)
    await page.getByRole('grid').getByText('by_satellite').waitFor()
    await page.route('**/reports/cohorts**', (route) =>
      route.fulfill({ status: 409, json: { error: 'not_in_this_orbit', message: 'The app has left this orbit.' } }),
    )
    await link(page, 'Cohorts').click()
    await page.getByText('The app has left this orbit.').waitFor()
    await page.getByText('not_in_this_orbit').waitFor()
    expect(faults).toEqual([])
  })
})
