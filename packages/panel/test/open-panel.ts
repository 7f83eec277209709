import { createHmac } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Role } from '@tributary/contracts/admin/people/roles'
import { startStandaloneProcess, waitUntilWritten } from '@tributary/testing/standalone/standalone-process'
import type { Browser, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { openBrowser, openWindow, type Watched } from './browser.ts'

export const password = 'a long password of Ada 17'
/** Texts that people may type anywhere. */
export const hostile = `</script><img src=x onerror=alert(1)> =1+1 \u202e${'w'.repeat(60)} 🦊`

const api = '/admin/api/v1'

/** A standalone of its own, whose panel is built, and a browser. */
export async function openPanel() {
  const browser = await openBrowser()
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-panel-'))
  const env = { TRIBUTARY_POSTBACK_ALLOWED_NETWORKS: '127.0.0.1' }
  const service = await startStandaloneProcess({ data_dir, env })
  const stop = async () => {
    await browser.close()
    await service.stop('SIGTERM')
    rmSync(data_dir, { recursive: true, force: true })
  }
  return { ...aroundPanel(browser, service.url, service.demo(), data_dir), stop }
}
export type OpenPanel = Awaited<ReturnType<typeof openPanel>>

function aroundPanel(browser: Browser, url: string, demo: Record<string, string>, data_dir: string) {
  const read = (name: string) => readFileSync(join(data_dir, name), 'utf8').trim()

  /** Calls the admin API with the admin token. */
  async function admin<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    const headers = { authorization: `Bearer ${read('admin-token')}` }
    const answer = await fetch(url + api + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    if (!answer.ok) throw new Error(`${path} answered ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as Answer
  }

  /** A window of a person with these roles in the demo company; an operator has none there. */
  async function windowOf(roles: readonly Role[], expected = /status of 401/, email = `${roles[0]}@example.com`) {
    const opened = await openWindow(browser, expected)
    // Left open, its page would ask on and on beside the other tests.
    onTestFinished(() => opened.context.close())
    let csrf_token = ''
    const post = async (path: string, data: object) => {
      const headers = { origin: url, 'x-csrf-token': csrf_token }
      const answer = await opened.context.request.post(url + api + path, { data, headers })
      if (!answer.ok()) throw new Error(`${path} answered ${answer.status()} ${await answer.text()}`)
      return (await answer.json()) as { csrf_token?: string }
    }
    for (const role of roles) {
      const company_id = role === 'operator' ? undefined : demo.COMPANY_ID
      const invited = await admin<{ invitation_url: string }>('POST', '/people/invite', { email, role, company_id })
      const token = new URL(invited.invitation_url).hash.slice(1)
      await post('/invitations/accept', csrf_token === '' ? { token, password } : { token })
      if (csrf_token === '') csrf_token = (await post('/sign-in', { email, password })).csrf_token ?? ''
    }
    return { ...opened, email, open: (path: string, ready: string) => openPage(opened, url, path, ready) }
  }

  async function sendEvents(events: object[]) {
    const answer = await fetch(`${url}/s2s/events/bulk`, {
      method: 'POST',
      headers: { authorization: `Bearer ${demo.SERVER_KEY}` },
      body: JSON.stringify({ events }),
    })
    expect(answer.status).toBe(200)
    await waitUntilWritten(url, data_dir)
  }
  return { browser, url, demo, read, admin, windowOf, sendEvents }
}

/** Opens a page of the panel, and waits until what it shows is there. The build of the panel may still run. */
export async function openPage({ page }: Watched, url: string, path: string, ready: string): Promise<void> {
  await page.goto(`${url}/admin/${path}`)
  await page.locator(ready).first().waitFor()
  await page.locator('.skeleton').first().waitFor({ state: 'detached' })
}

/** The exact values of the tiles, by their names. */
export async function tilesOf(page: Page): Promise<Record<string, string>> {
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

/** The digits that an authenticator shows (RFC 6238, of 30 s). */
export function totp(secret: string, at_ms: number): string {
  const bits = [...secret.replace(/=+$/, '')]
    .map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'))
    .join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(at_ms / 30_000)))
  const hash = createHmac('sha1', key).update(counter).digest()
  const number = hash.readUInt32BE(hash[19]! & 15) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}
