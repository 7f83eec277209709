import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedBroker } from '@tributary/broker/embedded'
import type { Found } from '@tributary/contracts/attribution/found'
import { topics } from '@tributary/contracts/topics'
import { startStandaloneProcess, waitUntilWritten } from '@tributary/testing/standalone/standalone-process'
import { expect, onTestFinished, test, vi } from 'vitest'

test('installs that a backend sends are found, and status waits for that', async () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-facts-'))
  onTestFinished(() => rmSync(data_dir, { recursive: true, force: true }))
  const running = await startStandaloneProcess({ data_dir })
  const { SERVER_KEY, APP_ID } = running.demo()
  const names = ['app_install', 'level_up', '_user_alias']
  const events = names.map((event_name, n) => ({
    ...{ event_id: `e-${n}`, event_name, event_ts_ms: Date.now(), install_uuid: 'i-1', user_id: 'u' },
    device: { gaid: '38400000-8cf0-11bd-b23e-10b96e40000d', ip: '2001:DB8::1' },
  }))
  const headers = { authorization: `Bearer ${SERVER_KEY}` }
  const body = JSON.stringify({ events })
  expect((await fetch(`${running.url}/s2s/events/bulk`, { method: 'POST', headers, body })).status).toBe(200)
  await waitUntilWritten(running.url, data_dir)
  expect(await running.stop('SIGTERM')).toBe(0)

  const broker = await openEmbeddedBroker({ dir: join(data_dir, 'log'), now: Date.now })
  onTestFinished(() => broker.close())
  const found: Found[] = []
  const reading = await broker.consume({
    ...{ group: 'reader', topic: topics.installsFound.name, bytes_min: 1, bytes_max: 1024 * 1024, wait_ms_max: 1 },
    onChunk: async ({ records }) => {
      for (const { value } of records) found.push(JSON.parse(`${value}`) as Found)
    },
  })
  await vi.waitFor(() => expect(found.length).toBeGreaterThan(1), { timeout: 180_000 })
  await reading.close()
  const facts = found.filter(({ kind }) => kind !== 'tick')
  expect(facts).toMatchObject([
    { kind: 'install', app_id: APP_ID, install_uuid: 'i-1', ip: '2001:db8::1', device_hashes: [expect.any(String)] },
    { kind: 'alias', app_id: APP_ID, install_uuid: 'i-1', user_id: 'u' },
  ])
})
