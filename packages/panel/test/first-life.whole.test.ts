import { execFileSync } from 'node:child_process'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { expect, it } from 'vitest'
import { findBarriers, openWindow } from './browser.ts'
import { hostile, openPage, openPanel, password, tilesOf } from './open-panel.ts'

const day_ms = 86_400_000

await describeWith('Chromium', openPanel, ({ browser, url, demo, read, sendEvents, windowOf }) => {
  it('leads from the first link to numbers that are those of the API, breaks no rule of its policy, and shows hostile texts as text', async () => {
    const opened = await openWindow(browser, /status of 401/)
    const { page, faults, context } = opened
    const barriers: string[] = []
    const open = (path: string, ready: string) => openPage(opened, url, path, ready)

    // The first person. The build of the panel may still run: its page loads itself again.
    await page.goto(read('first-sign-in'))
    await page.getByLabel('Email').fill('ada@example.com')
    barriers.push(...(await findBarriers(page)))
    await page.getByLabel('New password').fill(password)
    await page.getByRole('button', { name: 'Create the account' }).click()
    await page.waitForURL('**/admin/overview**')

    // An event arrives in front of the person's eyes.
    await open(`live?app=${demo.APP_ID}`, 'text=Waiting for events')
    await page.getByText('Live', { exact: true }).last().waitFor()
    const now = Date.now()
    const event = (n: number, more: object) => ({
      ...{ event_id: `e-${n}`, event_name: 'level_up', event_ts_ms: now - n * 60_000, install_uuid: `i-${n % 3}` },
      ...more,
    })
    const installs = [0, 1, 2].map((n) => event(100 + n, { event_name: 'app_install', install_uuid: `i-${n}` }))
    await sendEvents([
      ...installs,
      event(1, { event_name: hostile }),
      event(2, { event_name: 'purchase', revenue: 9.99, currency: 'USD', transaction_id: 't-1' }),
      event(3, {}),
    ])
    // Gateways learn within a second that somebody watches. The same event again counts once.
    const seen = page.getByText(hostile).first()
    await expect.poll(() => sendEvents([event(1, { event_name: hostile })]).then(() => seen.isVisible())).toBe(true)
    barriers.push(...(await findBarriers(page)))

    // The tiles are the answer of the API, to the last digit.
    await open(`overview?app=${demo.APP_ID}`, '.tile-value')
    await expect.poll(() => tilesOf(page)).toMatchObject({ Installs: '3', Events: '6' })
    const tiles = await tilesOf(page)
    const until_ms = (Math.floor(Date.now() / day_ms) + 1) * day_ms
    const window = `since_ms=${until_ms - 7 * day_ms}&until_ms=${until_ms}`
    const answer = await context.request.get(`${url}/admin/api/v1/apps/${demo.APP_ID}/overview?${window}`)
    const figures = (await answer.json()).tiles
    expect([tiles.Installs, tiles.Events, tiles.Revenue, tiles.Cost, tiles['D7 retention']]).toEqual([
      ...[String(figures.installs.now), String(figures.events.now), String(figures.revenue_usd.now)],
      ...['-', figures.d7_rate.now === null ? '-' : String(figures.d7_rate.now)],
    ])
    await page.locator('.chart svg').first().waitFor()

    // So is each cell of a table; an address keeps all of it.
    await open(`events?app=${demo.APP_ID}&table=events`, '[role=grid]')
    const report = await context.request.get(
      `${url}/admin/api/v1/apps/${demo.APP_ID}/reports/events?${window}&limit=1000`,
    )
    const { rows } = (await report.json()) as { rows: { event_name: string; events: number; revenue_usd: number }[] }
    const grid = page.getByRole('grid', { name: 'Events by name' })
    for (const row of rows) {
      const shown = grid.getByRole('row').filter({ hasText: row.event_name })
      expect(
        await shown.locator('data').evaluateAll((cells) => cells.map((cell) => cell.getAttribute('value'))),
      ).toEqual([row.events, (row as unknown as Record<string, number>).unique_installs, row.revenue_usd].map(String))
    }
    expect(await page.locator('img').count()).toBe(0)
    await page.getByRole('button', { name: 'Chart', exact: true }).click()
    await page.locator('.chart svg').first().waitFor()
    await page.goBack()
    await page.goForward()
    await page.locator('.chart svg').first().waitFor()

    // An id leads to its install by keyboard alone.
    await page.locator('body').press('/')
    await page.getByRole('searchbox').and(page.locator(':focus')).waitFor()
    await page.keyboard.type('i-1')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/admin/install/i-1**')
    await page.getByText('No click brought it: organic.').first().waitFor()
    await page.locator('body').press('g')
    await page.locator('body').press('c')
    await page.waitForURL('**/admin/cohorts**')
    await page.locator('.heat').waitFor()
    expect(barriers).toEqual([])
    expect(faults).toEqual([])
  })

  it('makes an app, shows its secret once, and notices the first event by itself', async () => {
    const { page, faults } = await openWindow(browser, /status of 401/)
    await page.goto(`${url}/admin/new-app`)
    await page.waitForURL('**/admin/sign-in**')
    await page.getByLabel('Email').fill('ada@example.com')
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL('**/admin/new-app**')
    await page.getByLabel('Name').fill(hostile)
    await page.getByRole('button', { name: 'Make the app' }).click()
    const command = await page.getByRole('region', { name: 'A first event, signed' }).textContent()
    await page.getByText('Waiting for your first event').waitFor()
    execFileSync('bash', ['-c', command ?? ''])
    await page.getByText('Your first event is here: app_install').waitFor()
    expect(faults).toEqual([])
  })

  it('follows a click on a link to the install that it brings, its verdict and its events', async () => {
    const { page, open, faults } = await windowOf(['marketer'])
    await open(`links?app=${demo.APP_ID}&open=${demo.LINK_ID}`, '.qr')
    await page.getByRole('link', { name: 'Follow the next click' }).click()
    await page.getByText('Waiting for a click on this link').waitFor()
    await page.getByText('Following', { exact: true }).waitFor()
    const gaid = '38400000-8cf0-11bd-b23e-10b96e40000d'
    const headers = { 'user-agent': 'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36' }
    await fetch(`${url}/l/${demo.LINK_ID}?gaid=${gaid}`, { redirect: 'manual', headers })
    await page.getByText('It may bring an install.').waitFor()
    const event = { event_ts_ms: Date.now(), install_uuid: 'i-followed', device: { gaid } }
    await sendEvents([{ ...event, event_id: 'f-1', event_name: 'app_install' }])
    await page.getByText('Verdict: example_ads').waitFor()
    expect(await findBarriers(page)).toEqual([])
    // Sent again until it was seen: a machine that stalls for longer than a gateway thinks itself watched shows less.
    const accepted = page.getByText(`Accepted: ${hostile}`).first()
    const again = { ...event, event_id: 'f-2', event_name: hostile }
    await expect.poll(() => sendEvents([again]).then(() => accepted.isVisible())).toBe(true)
    await page.getByRole('link', { name: 'i-followed' }).click()
    await page.getByText('Brought by example_ads, by device id.').first().waitFor()
    expect(faults).toEqual([])
  })
})
