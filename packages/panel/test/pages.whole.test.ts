import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { beforeAll, expect, it } from 'vitest'
import { lookAt, type PagePath, sendHostile } from './each-page.ts'
import { openPanel } from './open-panel.ts'

/** Scripts before the first numbers, after gzip. */
const first_load_bytes_max = 200_000

const pagesOf = (demo: Record<string, string>): Record<string, PagePath[]> => ({
  numbers: [
    ['overview', '.chart svg'],
    ['overview?app=', '[role=grid]'],
    ['performance', '[role=grid]'],
    ['cohorts', '.heat'],
    ['cohorts?group=partner', '.heat'],
    ['ltv', '.figure'],
    ['events', '.chart svg'],
    ['receipts', '.empty'],
    ['skan', '.empty'],
  ],
  traffic: [
    ['live', '.pill'],
    ['follow', 'form'],
    ['follow?install=i-1', '.pill'],
    ['installs', '[role=grid]'],
    ['install/i-1', '.time-line'],
    ['fraud', '[role=grid]'],
    ['what-if', 'form'],
    ['find?q=nothing', '.empty'],
  ],
  'the set-up': [
    [`links?open=${demo.LINK_ID}`, '.qr'],
    ['links?open=new', 'form'],
    ['partners?open=%2B', 'form'],
    ['partners?open=acme', '.snippet'],
    ['costs', '.snippet'],
    ['cv-schema', 'form'],
    [`apps?open=${demo.APP_ID}`, '.plain-table'],
    ['new-app', 'form'],
  ],
  people: [
    [`companies?open=${demo.COMPANY_ID}`, '.card form'],
    ['privacy', 'form'],
    ['people?open=new', '[role=grid]'],
    ['audit-log', '[role=grid]'],
    ['health', '[role=grid]'],
    ['account', '[role=grid]'],
  ],
})

await describeWith('Chromium', openPanel, (panel) => {
  beforeAll(async () => {
    await sendHostile(panel)
    await panel.admin('PUT', '/partners', {
      ...{ app_id: panel.demo.APP_ID, partner: 'acme', method: 'POST', hmac_secret: 'secret' },
      postback_url: 'https://127.0.0.1:9/postback?click={ext_click_id}&event={event_name}',
    })
  })

  it.each(Object.entries(pagesOf(panel.demo)))(
    'shows %s without a barrier, narrow and wide, dark and light, with hostile texts, and breaks no rule of its policy',
    (group, paths) => lookAt(panel, `${group.replaceAll(' ', '-')}@example.com`, paths),
  )

  it('shows the first numbers after at most 200 KB of scripts', async () => {
    const { page, faults } = await panel.windowOf(['analyst'])
    // No chart is asked for while the numbers have not come.
    await page.route('**/reports/**', () => {})
    const scripts: Promise<number>[] = []
    page.on('response', (answer) => {
      if (answer.url().endsWith('.js')) scripts.push(gzipLength(answer.url()))
    })
    await page.goto(`${panel.url}/admin/overview?app=${panel.demo.APP_ID}`)
    await page.locator('.tile-value').first().waitFor()
    const sizes = await Promise.all(scripts)
    expect(sizes.length).toBeGreaterThan(1)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(first_load_bytes_max)
    expect(faults).toEqual([])
  })

  it('asks for the first numbers while its scripts still load, with the roles of the last visit', async () => {
    const { page, open, faults } = await panel.windowOf(['marketer'])
    await open(`overview?app=${panel.demo.APP_ID}`, '.tile-value')
    // A slow machine may refuse figures of this first visit, which is here for its roles alone.
    faults.length = 0
    await page.route('**/assets/index-*.js', () => {})
    const asked = page.waitForRequest(/\/apps\/[^/]*\/overview\?since_ms=/)
    await page.goto(`${panel.url}/admin/overview?app=${panel.demo.APP_ID}`, { waitUntil: 'commit' })
    expect((await (await asked).response())?.status()).toBe(200)
    expect(await page.locator('.rail').count()).toBe(0)
    expect(faults).toEqual([])
  })
})

/** What a script weighs after gzip. */
async function gzipLength(address: string): Promise<number> {
  const answer = await fetch(address, { headers: { 'accept-encoding': 'gzip' } })
  return Number(answer.headers.get('content-length'))
}
