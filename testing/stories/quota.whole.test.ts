import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sign } from '@tributary/testing/builders'
import { type StandaloneProcess, startStandaloneProcess } from '@tributary/testing/standalone/standalone-process'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

let data_dir: string
let standalone: StandaloneProcess
beforeEach(async () => {
  data_dir = mkdtempSync(join(tmpdir(), 'tributary-quota-'))
  standalone = await startStandaloneProcess({ data_dir })
})
afterEach(async () => {
  await standalone.stop('SIGTERM')
  rmSync(data_dir, { recursive: true, force: true })
})

async function admin(method: string, path: string, body?: object): Promise<Record<string, string>> {
  const token = readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
  const headers = { authorization: `Bearer ${token}` }
  const url = `${standalone.url}/admin/api/v1${path}`
  const answer = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  return (await answer.json()) as Record<string, string>
}

it('gives back within a minute what replays used up, with the events of the month as they are stored', async () => {
  const company = await admin('POST', '/companies', { name: 'Replayed', monthly_quota: 1000 })
  const { company_id } = company
  const app = await admin('POST', '/apps', { company_id, name: 'Replayed', platform: 'android' })
  const batch = (from: number) =>
    JSON.stringify({
      events: Array.from({ length: 400 }, (_, n) => ({
        ...{ event_id: `e-${from + n}`, event_name: 'level_up', event_ts_ms: Date.now(), install_uuid: 'i-1' },
      })),
      sent_at_ms: Date.now(),
    })
  const send = async (body: string) => {
    const keys = { 'x-service-company-key': company.company_key!, 'x-service-app-key': app.app_key! }
    const headers = { ...keys, 'x-service-signature': sign(app.signing_secret!, body) }
    const answer = await fetch(`${standalone.url}/event`, { method: 'POST', headers, body })
    return `${answer.status} ${answer.headers.get('x-service-quota-used')}`
  }
  const replayed = batch(0)
  expect(await send(replayed)).toBe('200 400')
  expect(await send(replayed)).toBe('200 800')
  expect(await send(replayed)).toBe('429 800')
  const usage = () => admin('GET', `/companies/${company_id}/usage`)
  await vi.waitFor(async () => expect(await usage()).toMatchObject({ used: 400 }), { timeout: 180_000, interval: 500 })
  expect(await send(batch(400))).toBe('200 800')
})
