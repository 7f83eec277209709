import { createHmac, randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startApp, tapLink } from '@tributary/testing/attribution/phone'
import { startStandaloneProcess, waitUntilWritten } from '@tributary/testing/standalone/standalone-process'
import { expect, onTestFinished, test, vi } from 'vitest'
import { eraseAll, sendSigned } from '../erasure/person.ts'
import { startPartnerServer } from './partner-server.ts'

const patient = { timeout: 30_000, interval: 50 }

test('a partner hears of its installs and events, once and signed; what it refused is sent again; an erasure leaves no id', async () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-partners-'))
  onTestFinished(() => rmSync(data_dir, { recursive: true, force: true }))
  const partner = await startPartnerServer()
  onTestFinished(() => partner.close())
  const env = { TRIBUTARY_TRUSTED_PROXIES: '127.0.0.1', TRIBUTARY_POSTBACK_ALLOWED_NETWORKS: '127.0.0.1' }
  const running = await startStandaloneProcess({ data_dir, env })
  onTestFinished(() => void running.stop('SIGKILL'))
  const { url } = running
  const demo = running.demo()
  const app_id = demo.APP_ID!
  const admin_token = readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
  const app = {
    ...{ gateway_url: url, link_gateway_url: url, admin_url: url, app_id, link_id: demo.LINK_ID!, admin_token },
    keys: { company_key: demo.COMPANY_KEY!, app_key: demo.APP_KEY!, signing_secret: demo.SIGNING_SECRET! },
    server_key: demo.SERVER_KEY!,
    untilWritten: () => waitUntilWritten(url, data_dir),
  }
  const call = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${admin_token}`, 'content-type': 'application/json' }
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    const answer = await fetch(`${url}/admin/api/v1/partners${path}`, init)
    return { status: answer.status, body: JSON.parse(await answer.text()) }
  }
  const links = await fetch(`${url}/admin/api/v1/links?app_id=${app_id}`, {
    headers: { authorization: `Bearer ${admin_token}` },
  })
  const { partner: name } = ((await links.json()) as { links: { link_id: string; partner: string }[] }).links.find(
    ({ link_id }) => link_id === app.link_id,
  )!

  const postback_url = `${partner.url}/heard?click={ext_click_id}&event={event_name}&amount={revenue}&of={currency}`
  const set = {
    app_id,
    partner: name,
    postback_url,
    events: ['install', 'purchase'],
    hmac_secret: 'very-secret',
    flagged: 'send',
  }
  for (const wrong of ['https://127.0.0.2/', 'https://10.0.0.1/', 'http://example.com/', 'https://e.com/{nope}'])
    expect(await call('PUT', '', { ...set, postback_url: wrong })).toMatchObject({
      status: 400,
      body: { field: 'postback_url' },
    })
  expect(await call('PUT', '', set)).toMatchObject({ status: 200, body: { partner: name, signed: true } })

  const buy = (install_uuid: string, revenue: number) =>
    sendSigned(app, '/event', {
      events: [{ event_id: randomUUID(), event_name: 'purchase', install_uuid, revenue, event_ts_ms: Date.now() }],
    })
  const live = async (install_uuid: string, click_id: string, ip: string) => {
    expect((await tapLink(`${url}/l/${app.link_id}?click_id=${encodeURIComponent(click_id)}`, ip)).status).toBe(302)
    expect(await startApp(url, app.keys, { install_uuid, ip })).toBe(200)
  }
  await live('i-1', 'c 1&', '203.0.113.7')
  expect(await buy('i-1', 4.9912345)).toBe(200)
  await app.untilWritten()
  expect(await buy('i-1', 7)).toBe(200)
  await app.untilWritten()
  await vi.waitFor(() => expect(partner.heard.length).toBeGreaterThanOrEqual(3), patient)
  const notified = partner.heard.map(({ path }) => path).toSorted()
  expect(notified[0]).toBe('/heard?click=c%201%26&event=install&amount=&of=')
  expect(notified.at(-1)).toBe('/heard?click=c%201%26&event=purchase&amount=7&of=USD')
  const { method, path, headers } = partner.heard[0]!
  const [, time] = /^t=(\d+),/.exec(String(headers['x-tributary-signature']))!
  const hash = createHmac('sha256', 'very-secret').update(`${time}.${method} ${path}.`).digest('hex')
  expect(headers['x-tributary-signature']).toBe(`t=${time},v1=${hash}`)

  // What it refuses is dead, and sent again under the same key.
  partner.answer((_request, response) => response.writeHead(404).end('no such click'))
  await live('i-2', 'c2', '203.0.113.8')
  await app.untilWritten()
  const dead = async () => (await call('GET', `/deliveries?app_id=${app_id}&dead=1`)).body.deliveries
  await vi.waitFor(async () => expect(await dead()).toHaveLength(1), patient)
  expect(await dead()).toMatchObject([
    { install_uuid: 'i-2', status: 404, reason: 'status_404', answer: 'no such click' },
  ])
  partner.answer(null)
  const before = partner.heard.length
  expect((await call('POST', '/retry', { app_id, partner: name })).body).toEqual({ retried: 1 })
  await vi.waitFor(() => expect(partner.heard.length).toBeGreaterThan(before), patient)
  const [first, again] = partner.heard.filter((one) => one.path.includes('click=c2'))
  expect(again!.headers['idempotency-key']).toBe(first!.headers['idempotency-key'])
  expect(again!.path).toBe(first!.path)

  // A test is one postback, marked by a header.
  const tested = await call('POST', '/test', { app_id, partner: name })
  expect(tested).toMatchObject({ status: 200, body: { delivery: { outcome: 'delivered', status: 200, answer: 'ok' } } })
  expect(partner.heard.at(-1)!.headers['x-tributary-test']).toBe('1')

  // What waits for an erased install is never sent; what was sent is in the log without its id.
  partner.answer((_request, response) => response.writeHead(503).end())
  expect(await buy('i-1', 9)).toBe(200)
  await app.untilWritten()
  await vi.waitFor(() => expect(partner.heard.some((one) => one.path.includes('amount=9'))).toBe(true), patient)
  partner.answer(null)
  expect(await sendSigned(app, '/privacy/delete', { install_uuid: 'i-1' })).toBe(202)
  await app.untilWritten()
  await eraseAll(app)
  await app.untilWritten()
  const tries = (await call('GET', `/deliveries?app_id=${app_id}`)).body.deliveries as { install_uuid: string | null }[]
  expect(tries.map(({ install_uuid }) => install_uuid)).not.toContain('i-1')
  expect(tries.filter(({ install_uuid }) => install_uuid === null).length).toBeGreaterThanOrEqual(4)
  expect((await call('GET', `?app_id=${app_id}`)).body.partners).toMatchObject([{ partner: name, due: 0, dead: 0 }])
  expect(running.output()).not.toContain('very-secret')
}, 300_000)
