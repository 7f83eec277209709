import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startStandaloneProcess, waitUntilWritten } from '@tributary/testing/standalone/standalone-process'
import { expect, it, onTestFinished } from 'vitest'

it('each log line of a start, of requests and of a stop is JSON that names no key twice and rounds its times', async () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-logs-'))
  onTestFinished(() => rmSync(data_dir, { recursive: true, force: true }))
  const { url, demo, output, stop } = await startStandaloneProcess({ data_dir, env: { TRIBUTARY_LOG_LEVEL: 'trace' } })
  const { COMPANY_KEY, APP_KEY, SIGNING_SECRET, SERVER_KEY } = demo()
  const post = async (path: string, body: string, headers: Record<string, string>) =>
    (await fetch(url + path, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } }))
      .status
  const body = JSON.stringify({ events: [{ event_id: '1', event_name: 'level_up', install_uuid: 'i' }, {}] })
  const signed = {
    'x-service-company-key': COMPANY_KEY!,
    'x-service-app-key': APP_KEY!,
    'x-service-signature': createHmac('sha256', SIGNING_SECRET!).update(body).digest('hex'),
  }
  const authorization = `Bearer ${SERVER_KEY}`
  expect(await post('/event', body, signed)).toBe(200)
  expect(await post('/event', `${body} `, signed)).toBe(401)
  expect(await post('/s2s/event', '{"event_name":"a","install_uuid":"i"}', { authorization })).toBe(400)
  expect(await post('/s2s/events/bulk', '{', { authorization })).toBe(400)
  expect(await post('/nowhere', '{}', {})).toBe(404)
  for (const path of ['/api/v1/reports/events', '/admin/api/v1/status'])
    await fetch(url + path, { headers: { authorization } })
  await waitUntilWritten(url, data_dir)
  await stop('SIGTERM')

  const lines = output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
  expect(lines.length).toBeGreaterThan(10)
  expect(lines.filter((line) => JSON.stringify(JSON.parse(line)) !== line)).toEqual([])
  const times = lines.flatMap((line) => Object.entries(JSON.parse(line))).filter(([name]) => /_ms$/.test(name))
  expect(times.length).toBeGreaterThan(0)
  expect(times.filter(([, value]) => !/^(null|-?\d+(\.\d)?)$/.test(String(value)))).toEqual([])
})
