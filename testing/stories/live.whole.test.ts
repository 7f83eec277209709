import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LiveMessage } from '@tributary/contracts/admin/live/live'
import { startStandaloneProcess } from '@tributary/testing/standalone/standalone-process'
import { expect, it, onTestFinished, vi } from 'vitest'

it('shows the developer an event and a refusal within 2 s, and lets standalone stop while somebody watches', async () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-live-'))
  onTestFinished(() => rmSync(data_dir, { recursive: true, force: true }))
  const standalone = await startStandaloneProcess({ data_dir, from_nothing: true })
  const { APP_ID, SERVER_KEY } = standalone.demo()
  const token = readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
  const send = (event: object) =>
    fetch(`${standalone.url}/s2s/event`, {
      ...{ method: 'POST', headers: { authorization: `Bearer ${SERVER_KEY}` } },
      body: JSON.stringify({ event_id: 'e-1', event_name: 'level_up', install_uuid: 'i-1', ...event }),
    })
  const stream = await fetch(`${standalone.url}/admin/api/v1/apps/${APP_ID}/live`, {
    headers: { authorization: `Bearer ${token}` },
  })
  let text = ''
  const reading = (async () => {
    for await (const part of stream.body!.pipeThrough(new TextDecoderStream())) text += part
  })()
  const messages = (): LiveMessage[] =>
    text.split('\n\n').flatMap((part) => (part.startsWith('data: ') ? JSON.parse(part.slice(6)) : []))

  // The gateway learns within a second that the app is watched.
  await vi.waitFor(
    async () => {
      await send({ event_ts_ms: Date.now() })
      expect(messages()).toContainEqual(expect.objectContaining({ kind: 'accepted', install_uuid: 'i-1' }))
    },
    { timeout: 60_000, interval: 100 },
  )
  const refusal = { kind: 'refused', code: 'invalid_field', field: 'revenue', event_name: 'level_up' }
  const refused = () => messages().filter((message) => message.kind === 'refused').length
  // A machine that stalls may take longer once.
  await vi.waitFor(
    async () => {
      const before = refused()
      expect((await send({ event_ts_ms: Date.now(), revenue: 'much' })).status).toBe(400)
      await vi.waitFor(() => expect(refused()).toBeGreaterThan(before), { timeout: 2000, interval: 20 })
    },
    { timeout: 60_000 },
  )
  expect(messages().at(-1)).toMatchObject(refusal)

  expect(await standalone.stop('SIGTERM')).toBe(0)
  await reading
  expect(messages().at(-1)).toEqual({ kind: 'end', reason: 'unavailable' })
})
