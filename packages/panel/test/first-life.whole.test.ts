import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { startStandaloneProcess, waitUntilWritten } from '@tributary/testing/standalone/standalone-process'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { findBarriers, openBrowser, openWindow } from './browser.ts'

const password = 'a long password of Ada 17'
const hostile = `</script><img src=x onerror=alert(1)> =1+1 ${'w'.repeat(60)}`
const day_ms = 86_400_000

async function open() {
  const browser = await openBrowser()
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-panel-'))
  const service = await startStandaloneProcess({ data_dir })
  const stop = async () => {
    await browser.close()
    await service.stop('SIGTERM')
    rmSync(data_dir, { recursive: true, force: true })
  }
  return { browser, data_dir, service, stop }
}

await describeWith('Chromium', open, ({ browser, data_dir, service }) => {
  const { url } = service
  const demo = service.demo()

  async function sendEvents(events: object[]) {
    const answer = await fetch(`${url}/s2s/events/bulk`, {
      method: 'POST',
      headers: { authorization: `Bearer ${demo.SERVER_KEY}` },
      body: JSON.stringify({ events }),
    })
    expect(answer.status).toBe(200)
    await waitUntilWritten(url, data_dir)
  }

  it('leads from the first link to numbers that are those of the API, breaks no rule of its policy, and shows hostile texts as text', async () => {
    const { page, faults, context } = await openWindow(browser, /status of 401/)
    const barriers: string[] = []
    const open = async (path: string, ready: string) => {
      await page.goto(`${url}/admin/${path}`)
      await page.locator(ready).first().waitFor()
      await page.locator('.skeleton').first().waitFor({ state: 'detached' })
    }

    // The first person. The build of the panel may still run: its page loads itself again.
    await page.goto(readFileSync(join(data_dir, 'first-sign-in'), 'utf8').trim())
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
    barriers.push(...(await findBarriers(page)))

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
    barriers.push(...(await findBarriers(page)))
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
    barriers.push(...(await findBarriers(page)))
    await page.locator('body').press('g')
    await page.locator('body').press('c')
    await page.waitForURL('**/admin/cohorts**')
    await page.locator('.heat').waitFor()
    barriers.push(...(await findBarriers(page)))
    for (const [path, ready] of [
      ['performance', '[role=grid]'],
      ['costs', '.snippet'],
      ['skan', '.empty'],
      ['fraud', '[role=grid]'],
      ['ltv', '.figure'],
      ['installs', '[role=grid]'],
      ['find?q=nothing', '.empty'],
      [`apps?open=${demo.APP_ID}`, '.plain-table'],
      ['new-app', 'form'],
      [`links?open=${demo.LINK_ID}`, '[role=grid]'],
      ['links?open=new', 'form'],
      ['cv-schema', 'form'],
      ['audit-log', '[role=grid]'],
      ['health', '[role=grid]'],
      ['privacy', 'form'],
      ['account', '[role=grid]'],
      ['people?open=new', '[role=grid]'],
    ] as const) {
      await open(`${path}${path.includes('?') ? '&' : '?'}app=${demo.APP_ID}`, ready)
      barriers.push(...(await findBarriers(page)))
    }
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
})

/** The exact values of the tiles, by their names. */
async function tilesOf(page: Page): Promise<Record<string, string>> {
  const pairs = await page
    .locator('.tile')
    .evaluateAll((tiles) =>
      tiles.map((tile) => [
        tile.querySelector('h2')?.textContent ?? '',
        tile.querySelector('data')?.getAttribute('value') ?? '',
      ]),
    )
  return Object.fromEntries(pairs)
}
