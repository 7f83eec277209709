import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { findChromium } from '@tributary/testing/engines/chromium'
import type { AxeResults, RunOptions } from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'

/** What a window of a browser broke: refusals of its policy, faults, and requests that got no answer. */
export interface Watched {
  context: BrowserContext
  page: Page
  faults: string[]
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** The build of the panel may come first, on a busy machine. */
const timeout_ms = 120_000
const rules: RunOptions = { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }
/** The dark changes colours alone. */
const colours: RunOptions = { runOnly: { type: 'rule', values: ['color-contrast'] } }
/** How a page is looked at. A width between the others has the rules of one of them. */
const looks = [
  { width: 360, scheme: 'light', options: rules },
  { width: 768, scheme: 'light', options: null },
  { width: 1440, scheme: 'light', options: rules },
  { width: 1440, scheme: 'dark', options: colours },
] as const

export async function openBrowser(): Promise<Browser> {
  // Chromium has no sandbox of its own when root runs it. It reads nothing but our pages here.
  return chromium.launch({
    executablePath: await findChromium(),
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  })
}

/** A window; `expected` are texts of messages that are no fault, such as of an answer 401. */
export async function openWindow(browser: Browser, expected: RegExp): Promise<Watched> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  await context.addInitScript({ content: axeSource })
  const page = await context.newPage()
  page.setDefaultTimeout(timeout_ms)
  const faults: string[] = []
  page.on('console', (said) => {
    const text = `${said.text()} ${said.location().url}`
    if (/error|warning/.test(said.type()) && !expected.test(text)) faults.push(text)
  })
  page.on('pageerror', (fault) => faults.push(String(fault)))
  return { context, page, faults }
}

/** Violations of WCAG 2.2 AA on a page, narrow and wide, light and dark; and whether it scrolls sideways. */
export async function findBarriers(page: Page): Promise<string[]> {
  const found: string[] = []
  for (const { width, scheme, options } of looks) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme: scheme })
    if (await page.evaluate(isTooWide)) found.push(`${page.url()} ${width} scrolls`)
    if (options === null) continue
    const { violations } = await page.evaluate(
      (given) => (globalThis as unknown as { axe: { run(o: RunOptions): Promise<AxeResults> } }).axe.run(given),
      options as RunOptions,
    )
    for (const { id, nodes } of violations) found.push(`${page.url()} ${width} ${scheme} ${id}: ${nodes[0]?.html}`)
  }
  return found
}

/** Runs in the page, as a function: its policy refuses texts. A chart takes the new width of its page some frames later. */
const isTooWide = async () => {
  const { document, innerWidth, requestAnimationFrame } = globalThis as unknown as {
    document: { documentElement: { scrollWidth: number } }
    innerWidth: number
    requestAnimationFrame(done: () => void): void
  }
  const isWide = () => document.documentElement.scrollWidth > innerWidth
  for (let frames = 0; frames < 30 && isWide(); frames++) {
    await new Promise<void>((done) => requestAnimationFrame(done))
  }
  return isWide()
}
