import type { AddressInfo } from 'node:net'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { findChromium } from '@tributary/testing/engines/chromium'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { pino } from 'pino'
import { type Browser, chromium, type Page } from 'playwright-core'
import { expect, it, onTestFinished } from 'vitest'
import { apiDocs } from '../src/api-docs.ts'
import { openDocuments } from '../src/documents.ts'
import { filledDocs } from '../src/filled-docs.ts'

const acme = { platform: 'ios', company_name: 'Acme & Co', company_key: 'co_live_0f' }
const apps = [
  { ...acme, app_id: 'app_1', name: 'First <b>', app_key: 'app_live_1a' },
  { ...acme, app_id: 'app_2', name: 'Second', app_key: 'app_live_2b' },
]

interface Reader {
  url: string
  browser: Browser
  stop(): Promise<void>
}

async function open(): Promise<Reader> {
  const executablePath = await findChromium()
  const app = createHttpApp({ logger: pino({ level: 'silent' }) })
  const documents = openDocuments()
  await app.register(apiDocs(documents))
  await app.register(filledDocs({ documents, authorize: async () => {}, findApps: async () => apps }))
  await app.listen({ port: 0, host: '127.0.0.1' })
  // Chromium has no sandbox of its own when root runs it. It reads nothing but our pages here.
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
  const stop = async () => {
    await browser.close()
    await app.close()
  }
  return { url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`, browser, stop }
}

await describeWith('Chromium', open, (reader) => {
  /** A page in a window of this width; what the browser refuses or fails at is a failure of the test. */
  async function openPage(width: number): Promise<Page> {
    const context = await reader.browser.newContext({
      viewport: { width, height: 800 },
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    const page = await context.newPage()
    const faults: string[] = []
    page.on('console', (said) => {
      if (said.type() === 'error' || said.type() === 'warning') faults.push(said.text())
    })
    page.on('pageerror', (fault) => faults.push(String(fault)))
    page.on('requestfailed', (request) => faults.push(request.url()))
    onTestFinished(async () => {
      expect(faults).toEqual([])
      await context.close()
    })
    return page
  }

  it('every page opens from the navigation of a phone, scrolls in one direction only and breaks no rule of its policy', async () => {
    const page = await openPage(360)
    await page.goto(`${reader.url}/docs`)
    const addresses = await page.$$eval('.pages a[href^="/docs"]', (links) =>
      links.map((link) => link.getAttribute('href')),
    )
    expect(addresses.length).toBeGreaterThan(35)
    for (const part of [
      '/docs/rules',
      '/docs/errors',
      '/docs/reference/events',
      '/docs/examples/signing',
      '/docs/examples/flights',
    ])
      expect(addresses).toContain(part)
    // Decisions are pages of text like the others; that no link of theirs leads nowhere is held elsewhere.
    for (const address of addresses.filter((one) => !one?.startsWith('/docs/decisions/'))) {
      const answer = await page.goto(`${reader.url}${address}`, { waitUntil: 'domcontentloaded' })
      const [inside, window] = (await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')) as [
        number,
        number,
      ]
      expect([address, answer?.status(), inside]).toEqual([address, 200, window])
    }
  })

  it('text is at most 75 characters wide, and samples stand on its right', async () => {
    const page = await openPage(1440)
    for (const path of ['docs', 'docs/rules', 'docs/reference/reports']) {
      await page.goto(`${reader.url}/${path}`)
      expect(await page.evaluate(widestLine)).toBeLessThanOrEqual(75)
    }
    const [text, samples] = await Promise.all(
      ['h2', '.samples figure'].map((what) =>
        page
          .locator(what)
          .locator('visible=true')
          .nth(what === 'h2' ? 5 : 0)
          .boundingBox(),
      ),
    )
    expect(samples!.x).toBeGreaterThan(text!.x + text!.width)
  })

  it('a search by keyboard leads to the row of an error code', async () => {
    const page = await openPage(1440)
    await page.goto(`${reader.url}/docs`)
    await page.keyboard.press('/')
    await page.keyboard.type('bad_signature')
    await page.waitForSelector('#hits a')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/docs\/errors#bad_signature$/)
    expect(await page.locator('tr:target').textContent()).toContain('HMAC-SHA256')
  })

  it('a button copies a sample, and another language is one press away and remembered', async () => {
    const page = await openPage(1440)
    await page.goto(`${reader.url}/docs/reference/events`)
    await page.getByRole('button', { name: 'Python' }).click()
    await page.reload()
    const shown = page.locator('.tabs figure').locator('visible=true')
    expect(await shown.count()).toBe(1)
    await shown.getByRole('button', { name: 'Copy' }).click()
    await expect
      .poll(() => page.evaluate('navigator.clipboard.readText()'))
      .toMatch(/^"""One signed batch[\s\S]*event_ts_ms/)
  })

  it('below /admin the keys of the chosen app stand in the samples, and a link keeps the app', async () => {
    const page = await openPage(1440)
    await page.goto(`${reader.url}/admin/docs?app=app_2`)
    expect(await page.locator('.filled summary').textContent()).toBe('Filled in: Acme & Co: Second (ios)')
    await page.locator('.pages a', { hasText: 'Privacy' }).last().click()
    expect(page.url()).toMatch(/\/admin\/docs\/reference\/privacy\?app=app_2$/)
    const sample = await page.locator('.samples code').first().textContent()
    expect(sample).toContain('X-Service-App-Key: app_live_2b')
    expect(sample).toContain('X-Service-Company-Key: co_live_0f')
    expect(sample).toContain('$SIGNING_SECRET')
  })
})

/** The characters of the longest line of text, as the browser breaks it. */
const widestLine = `(() => {
  const range = document.createRange()
  let widest = 0
  for (const part of document.querySelectorAll('.text > p')) {
    const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT)
    let [top, count] = [-1, 0]
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (let at = 0; at < node.length; at += 1) {
        range.setStart(node, at)
        range.setEnd(node, at + 1)
        const [box] = range.getClientRects()
        if (box === undefined) continue
        if (Math.abs(box.top - top) > 8) [top, count] = [box.top, 0]
        count += 1
        widest = Math.max(widest, count)
      }
    }
  }
  return widest
})()`
