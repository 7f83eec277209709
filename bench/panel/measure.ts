import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { inWindow, type Page, type Site } from './site.ts'

/** Seconds that a build of the panel takes, alone. */
export async function measureBuild(): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'tributary-bench-build-'))
  try {
    const build = join(import.meta.dirname, '..', '..', 'packages', 'panel', 'server', 'build.ts')
    const began = performance.now()
    await promisify(execFile)(process.execPath, [build, join(dir, 'built')], { timeout: 300_000 })
    return (performance.now() - began) / 1000
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** When the first number stood on the page, after the navigation began. */
const noteFirstNumber = `new MutationObserver((_, observer) => {
  if (document.querySelector('.tile-value') === null) return
  observer.disconnect()
  globalThis.first_number_ms = performance.now()
}).observe(document, { childList: true, subtree: true })`

export async function measureFirstNumbers(site: Site, slowdown: number, rounds: number) {
  const shown_ms: number[] = []
  let script_bytes = 0
  for (let round = 0; round < rounds; round += 1)
    await inWindow(site, noteFirstNumber, async (page) => {
      const devtools = await page.context().newCDPSession(page)
      await devtools.send('Emulation.setCPUThrottlingRate', { rate: slowdown })
      await page.goto(`${site.url}/admin/overview?app=${site.app_id}`)
      await page.locator('.tile-value').first().waitFor()
      const { at_ms, scripts } = await page.evaluate(readFirstNumber)
      shown_ms.push(at_ms)
      const sizes = await Promise.all(scripts.map(gzipLength))
      script_bytes = sizes.reduce((sum, size) => sum + size, 0)
    })
  return { shown_ms, script_bytes }
}

/** Runs in the page: when the first number stood there, and the scripts that were requested before. */
const readFirstNumber = () => {
  const { first_number_ms, performance } = globalThis as unknown as {
    first_number_ms: number
    performance: { getEntriesByType(type: 'resource'): { name: string; startTime: number }[] }
  }
  const before = performance.getEntriesByType('resource').filter(({ startTime }) => startTime < first_number_ms)
  return { at_ms: first_number_ms, scripts: before.map(({ name }) => name).filter((name) => name.endsWith('.js')) }
}

async function gzipLength(address: string): Promise<number> {
  const answer = await fetch(address, { headers: { 'accept-encoding': 'gzip' } })
  const bytes = Number(answer.headers.get('content-length'))
  if (bytes === 0) throw new Error(`${address} says no length`)
  return bytes
}

/** How long each click or key took until the page showed something (Event Timing, in steps of 8 ms), with the name of what was clicked. */
const noteInteractions = `globalThis.interactions = new Map()
new PerformanceObserver((list) => {
  for (const { interactionId, duration } of list.getEntries())
    if (interactionId)
      interactions.set(interactionId, { name: globalThis.clicked, ms: Math.max(duration, interactions.get(interactionId)?.ms ?? 0) })
}).observe({ type: 'event', durationThreshold: 16, buffered: true })`

export interface Interaction {
  name: string
  ms: number
}

const pages = ['Performance', 'Cohorts', 'Lifetime value', 'Events', 'Installs', 'Links', 'Costs', 'Apps and keys']

/** Interactions of somebody who goes through the panel: pages, dates, tables, the switcher. */
export function measureInteractions(site: Site): Promise<Interaction[]> {
  return inWindow(site, noteInteractions, async (page) => {
    let clicks = 0
    const click = async (role: 'button' | 'link' | 'radio' | 'columnheader', name: string | RegExp) => {
      await page.evaluate((clicked) => Object.assign(globalThis, { clicked }), `${role} ${name}`)
      await page.getByRole(role, { name, exact: true }).first().click()
      clicks += 1
      await pause(200)
    }
    await page.goto(`${site.url}/admin/overview?app=${site.app_id}`)
    await page.locator('.tile-value').first().waitFor()
    for (let round = 0; round < 3; round += 1) {
      for (const name of pages) await click('link', new RegExp(`^${name}`))
      await click('link', /^Overview/)
      await click('button', /^Dates/)
      await click('radio', round % 2 === 0 ? '30 days' : '7 days')
      await page.keyboard.press('Escape')
      await click('link', /^Installs/)
      await page.getByRole('grid').first().waitFor()
      await click('columnheader', /^Partner/)
      await click('columnheader', /^Installed/)
    }
    const noted = await page.evaluate(() => [
      ...(globalThis as unknown as { interactions: Map<number, Interaction> }).interactions.values(),
    ])
    // The observer names none that took less than 16 ms.
    return [...noted, ...Array.from({ length: Math.max(0, clicks - noted.length) }, () => ({ name: 'other', ms: 16 }))]
  })
}

/** Milliseconds between frames while somebody scrolls fast (7 screens a second) through the table of installs. */
export function measureTable(site: Site, rows: number): Promise<number[]> {
  return inWindow(site, '', async (page) => {
    await page.route('**/apps/*/installs**', async (route) => {
      const answer = await (await route.fetch()).json()
      const installs = Array.from({ length: rows }, (_, n) => ({
        ...answer.installs[n % answer.installs.length],
        install_uuid: `install-${n}`,
      }))
      await route.fulfill({ json: { ...answer, installs } })
    })
    await page.goto(`${site.url}/admin/installs?app=${site.app_id}&range=30d`)
    await page.getByRole('grid').first().waitFor()
    await page.getByText('install-0', { exact: true }).waitFor()
    return page.evaluate(scrollThrough)
  })
}

/** Runs in the page. */
const scrollThrough = async () => {
  const { document, requestAnimationFrame } = globalThis as unknown as {
    document: {
      querySelectorAll(selector: string): Iterable<{ scrollHeight: number; clientHeight: number; scrollTop: number }>
    }
    requestAnimationFrame(done: (at_ms: number) => void): void
  }
  const [scroller] = [...document.querySelectorAll('*')].toSorted(
    (a, b) => b.scrollHeight - b.clientHeight - (a.scrollHeight - a.clientHeight),
  )
  if (scroller === undefined) throw new Error('nothing scrolls')
  const frames: number[] = []
  let before_ms: number | null = null
  for (let frame = 0; frame <= 300; frame += 1) {
    const at_ms = await new Promise<number>(requestAnimationFrame)
    if (before_ms !== null) frames.push(at_ms - before_ms)
    before_ms = at_ms
    scroller.scrollTop += 105
  }
  return frames
}

/** The heap of the page at the begin and after so many seconds of twenty events each. */
export function measureLive(site: Site, seconds: number) {
  return inWindow(site, '', async (page) => {
    await page.goto(`${site.url}/admin/live?app=${site.app_id}`)
    await page.getByText('Live', { exact: true }).last().waitFor()
    let events = 0
    const sendSecond = async () => {
      const now = Date.now()
      const second = Array.from({ length: 20 }, (_, n) => ({
        ...{ event_id: `live-${events + n}`, event_name: 'level_up', install_uuid: `i-${n}`, event_ts_ms: now },
        props: { level: n, text: 'x'.repeat(200) },
      }))
      await site.send(second)
      events += second.length
      await pause(1000)
    }
    // The page is full of items at its begin, so that only what it should not keep counts.
    for (let second = 0; second < 25; second += 1) await sendSecond()
    const before_bytes = await heapOf(page)
    for (let second = 0; second < seconds; second += 1) await sendSecond()
    return { seconds, events, before_bytes, after_bytes: await heapOf(page) }
  })
}

async function heapOf(page: Page): Promise<number> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('HeapProfiler.enable')
  await devtools.send('HeapProfiler.collectGarbage')
  const { usedSize } = await devtools.send('Runtime.getHeapUsage')
  await devtools.detach()
  return usedSize
}
