import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FollowMessage } from '@tributary/contracts/admin/live/follow'
import type { LiveMessage } from '@tributary/contracts/admin/live/live'
import { startStandaloneProcess } from '@tributary/testing/standalone/standalone-process'
import { expect, it, onTestFinished, vi } from 'vitest'

it('shows the developer an event and a refusal within 2 s, and the way of a click, and lets standalone stop while somebody watches', async () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-live-'))
  onTestFinished(() => rmSync(data_dir, { recursive: true, force: true }))
  const standalone = await startStandaloneProcess({ data_dir, from_nothing: true })
  const { APP_ID, SERVER_KEY, LINK_ID } = standalone.demo()
  const token = readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
  const send = (event: object) =>
    fetch(`${standalone.url}/s2s/event`, {
      ...{ method: 'POST', headers: { authorization: `Bearer ${SERVER_KEY}` } },
      body: JSON.stringify({ event_id: 'e-1', event_name: 'level_up', install_uuid: 'i-1', ...event }),
    })
  const open = async <Message>(path: string) => {
    const stream = await fetch(`${standalone.url}/admin/api/v1/apps/${APP_ID}/${path}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    let text = ''
    const reading = (async () => {
      for await (const part of stream.body!.pipeThrough(new TextDecoderStream())) text += part
    })()
    const messages = (): Message[] =>
      text.split('\n\n').flatMap((part) => (part.startsWith('data: ') ? JSON.parse(part.slice(6)) : []))
    return { messages, reading }
  }
  const { messages, reading } = await open<LiveMessage>('live')
  const followed = await open<FollowMessage>(`follow?link_id=${LINK_ID}`)

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

  const kinds = () => followed.messages().map(({ kind }) => kind)
  await vi.waitFor(() => expect(kinds()).toEqual(['following']), { timeout: 60_000 })
  const gaid = '38400000-8cf0-11bd-b23e-10b96e40000d'
  await fetch(`${standalone.url}/l/${LINK_ID}?gaid=${gaid}`, {
    ...{ redirect: 'manual', headers: { 'user-agent': 'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36' } },
  })
  await vi.waitFor(() => expect(kinds()).toEqual(['following', 'click']), { timeout: 60_000, interval: 20 })
  const install = { event_name: 'app_install', install_uuid: 'i-2', event_ts_ms: Date.now(), device: { gaid } }
  // Sent again until it was seen: a machine that stalls for longer than a gateway thinks itself watched shows less.
  await vi.waitFor(
    async () => {
      expect((await send(install)).status).toBe(200)
      expect(followed.messages()).toMatchObject(
        expect.arrayContaining([
          expect.objectContaining({ kind: 'install', install_uuid: 'i-2' }),
          expect.objectContaining({ kind: 'accepted', event_name: 'app_install', install_uuid: 'i-2' }),
          expect.objectContaining({ verdict: expect.objectContaining({ partner: 'example_ads', link_id: LINK_ID }) }),
        ]),
      )
    },
    { timeout: 120_000, interval: 500 },
  )

  expect(await standalone.stop('SIGTERM')).toBe(0)
  await Promise.all([reading, followed.reading])
  for (const last of [messages().at(-1), followed.messages().at(-1)])
    expect(last).toEqual({ kind: 'end', reason: 'unavailable' })
})
