import type { openBrowser } from '../../packages/panel/test/browser.ts'

type Browser = Awaited<ReturnType<typeof openBrowser>>
type BrowserContext = Awaited<ReturnType<Browser['newContext']>>
export type Page = Awaited<ReturnType<BrowserContext['newPage']>>

/** A service with numbers, and the cookies of somebody who may see them. */
export interface Site {
  browser: Browser
  url: string
  app_id: string
  signed_in: Awaited<ReturnType<BrowserContext['storageState']>>
  /** Sends backend events of the app. */
  send(events: object[]): Promise<void>
}

/** Works in a new window, which holds nothing in its cache; `script` runs before each page. */
export async function inWindow<Result>(
  { browser, signed_in }: Site,
  script: string,
  work: (page: Page) => Promise<Result>,
): Promise<Result> {
  const context = await browser.newContext({ storageState: signed_in, viewport: { width: 1440, height: 900 } })
  try {
    await context.addInitScript({ content: script })
    const page = await context.newPage()
    page.setDefaultTimeout(120_000)
    return await work(page)
  } finally {
    await context.close()
  }
}
