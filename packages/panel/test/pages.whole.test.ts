import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { expect, it } from 'vitest'
import { findBarriers } from './browser.ts'
import { hostile, openPanel } from './open-panel.ts'

/** Scripts before the first numbers, after gzip. */
const first_load_bytes_max = 200_000

/** Each page, and what stands on it once it is there. */
const pagesOf = (demo: Record<string, string>) =>
  ({
    numbers: [
      ['overview', '.chart svg'],
      ['overview?app=', '[role=grid]'],
      ['performance', '[role=grid]'],
      ['cohorts', '.heat'],
      ['cohorts?group=partner', '.heat'],
      ['ltv', '.figure'],
      ['events', '.chart svg'],
      ['skan', '.empty'],
    ],
    traffic: [
      ['live', '.pill'],
      ['installs', '[role=grid]'],
      ['install/i-1', '.time-line'],
      ['fraud', '[role=grid]'],
      ['find?q=nothing', '.empty'],
    ],
    'the set-up': [
      [`links?open=${demo.LINK_ID}`, '.qr'],
      ['links?open=new', 'form'],
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
  }) satisfies Record<string, [path: string, ready: string][]>

await describeWith('Chromium', openPanel, ({ windowOf, sendEvents, admin, demo, url }) => {
  let sent = false

  it.each(Object.keys(pagesOf({})) as (keyof ReturnType<typeof pagesOf>)[])(
    'shows %s without a barrier, narrow and wide, dark and light, with hostile texts, and breaks no rule of its policy',
    async (group) => {
      if (!sent) {
        sent = true
        await admin('PATCH', `/apps/${demo.APP_ID}`, { name: hostile.slice(0, 200) })
        const now = Date.now()
        const event = (n: number, more: object) => ({
          ...{ event_id: `e-${n}`, event_name: 'level_up', event_ts_ms: now - n * 60_000, install_uuid: `i-${n % 3}` },
          ...more,
        })
        const installs = [0, 1, 2].map((n) => event(100 + n, { event_name: 'app_install', install_uuid: `i-${n}` }))
        await sendEvents([...installs, event(1, { event_name: hostile.slice(0, 100) })])
      }
      const { page, open, faults } = await windowOf(
        ['owner', 'operator'],
        /status of 401/,
        `${group.replaceAll(' ', '-')}@example.com`,
      )
      const barriers: string[] = []
      for (const [path, ready] of pagesOf(demo)[group]) {
        const [address, given = ''] = path.split('?')
        const words = new URLSearchParams(given)
        if (!words.has('app')) words.set('app', demo.APP_ID ?? '')
        await open(`${address}?${words}`, ready)
        barriers.push(...(await findBarriers(page)))
        expect(await page.locator('img').count()).toBe(0)
      }
      expect(barriers).toEqual([])
      expect(faults).toEqual([])
    },
  )

  it('shows the first numbers after at most 200 KB of scripts', async () => {
    const { page, faults } = await windowOf(['analyst'])
    // No chart is asked for while the numbers have not come.
    await page.route('**/reports/**', () => {})
    const scripts: Promise<number>[] = []
    page.on('response', (answer) => {
      if (answer.url().endsWith('.js')) scripts.push(gzipLength(answer.url()))
    })
    await page.goto(`${url}/admin/overview?app=${demo.APP_ID}`)
    await page.locator('.tile-value').first().waitFor()
    const sizes = await Promise.all(scripts)
    expect(sizes.length).toBeGreaterThan(1)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(first_load_bytes_max)
    expect(faults).toEqual([])
  })
})

/** What a script weighs after gzip. */
async function gzipLength(address: string): Promise<number> {
  const answer = await fetch(address, { headers: { 'accept-encoding': 'gzip' } })
  return Number(answer.headers.get('content-length'))
}
