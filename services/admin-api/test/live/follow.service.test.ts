import { randomUUID } from 'node:crypto'
import { clicksKey, type FeedItem, feedKey, followed_key } from '@tributary/contracts/admin/live/feed'
import type { FollowedClick, FollowMessage } from '@tributary/contracts/admin/live/follow'
import { limits } from '@tributary/contracts/limits'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { expect, it, vi } from 'vitest'
import { peopleWorld } from '../people/people-world.ts'
import { patience, streamsOf } from './open-stream.ts'

const keyValue = memoryKeyValue(Date.now)
/** Rows of ClickHouse: claims and decisions, in the columns that are asked for. */
const tables = { claims: [] as object[], decisions: [] as { decision: string }[], postbacks: [] as object[] }
const query = async <Row>(sql: string) => {
  const rows = sql.includes('install_claims_v1')
    ? tables.claims
    : sql.includes('postbacks_decoded_v1')
      ? tables.postbacks
      : tables.decisions
  return rows as Row[]
}
const { listen, newApp, signedIn, ask } = peopleWorld({ keyValue, clickhouse: { query } })
const openStream = streamsOf(listen)
const open = (app_id: string, filter: string, as: Parameters<typeof openStream>[1] = null) =>
  openStream<FollowMessage>(`/apps/${app_id}/follow?${filter}`, as)

const newLink = async (app_id: string) =>
  (await ask('POST', '/links', { app_id, partner: 'net' })).body.link_id as string

function gatewayOf(ring: string) {
  const from = randomUUID()
  let total = 0
  return async (items: object[], left_out = 0) => {
    const before = total
    total += items.length + left_out
    await keyValue.append(ring, JSON.stringify({ from, before, total, items }), 256, 60_000)
  }
}

const click = (stopped: FollowedClick['stopped'], click_id: string | null = null): FollowedClick => ({
  ...{ kind: 'click', at_ms: 1, click_id, stopped, country: 'AT', os: 'ios', ext_click_id: null },
})
const event = (install_uuid: string, event_id: string): FeedItem => ({
  ...{ kind: 'accepted', at_ms: 1, route: '/event', request_id: 'r', code: null, field: null, message: null },
  ...{ event_name: 'level', unproven: false, install_uuid, event_id, ip: '192.0.2.7', raw: '{"a":1}' },
})
const decisionOf = (app_id: string, install_uuid: string, decided_at_ms: number, partner: string | null) => ({
  ...{ app_id, install_uuid, installed_at_ms: 5, decided_at_ms, pending: partner === null },
  verdict: partner && { partner },
  ...{ candidates: Array.from({ length: 30 }, (_, n) => ({ click_id: `c-${n}` })), clicks: [{ ip: '192.0.2.9' }] },
})
const decide = (...decisions: object[]) => {
  tables.decisions = decisions.map((decision) => ({ decision: JSON.stringify(decision) }))
}

it('shows the next click of a link, the install that it brings, and what becomes of that', async () => {
  const { app_id, company_id, store_id } = await newApp()
  const link_id = await newLink(app_id)
  const [clicked, sent] = [gatewayOf(clicksKey(link_id)), gatewayOf(feedKey(app_id))]
  const { email: _email, ...analyst } = await signedIn('analyst', company_id)
  const stream = await open(app_id, `link_id=${link_id}`, analyst)
  expect(stream).toMatchObject({ status: 200, type: 'text/event-stream; charset=utf-8' })
  await stream.until((messages) => expect(messages).toEqual([{ kind: 'following' }]))
  const [mine, other] = [randomUUID(), randomUUID()]

  await clicked([click('bot'), click(null, mine), click(null, other)])
  await sent([event('i-1', 'first'), event('i-2', 'foreign')])
  await stream.until((messages) => expect(messages.slice(1)).toEqual([click('bot'), click(null, mine)]))
  tables.claims = [{ click_id: mine, install_uuid: 'i-1' }]
  decide(decisionOf(app_id, 'i-1', 7, null))
  await stream.until((messages) => expect(messages).toHaveLength(6))
  await sent([event('i-2', 'foreign'), event('i-1', 'second')])
  decide(decisionOf(app_id, 'i-1', 8, 'net'))
  await stream.until((messages) => expect(messages).toHaveLength(8))
  const postback = { protocol: 'skan', environment: 'development', network: 'n', source: '1', sequence_index: 0 }
  tables.postbacks = [
    { store_id, postback_key: '1', at_ms: Date.UTC(2026, 6, 1), ...postback, fine: 3, coarse: null, did_win: 1 },
    { store_id, postback_key: '2', at_ms: Date.UTC(2026, 4, 1), ...postback, fine: 4, coarse: null, did_win: 1 },
  ]
  await stream.until((messages) => expect(messages).toHaveLength(9))

  const rest = stream.messages().slice(3)
  const { ip: _ip, raw: _raw, ...limited } = event('i-1', 'first')
  expect(rest.filter(({ kind }) => kind === 'accepted')).toEqual([limited, { ...limited, event_id: 'second' }])
  expect(rest.filter(({ kind }) => kind === 'install')).toEqual([
    { kind: 'install', install_uuid: 'i-1', installed_at_ms: 5 },
  ])
  expect(rest.filter(({ kind }) => kind === 'verdict')).toMatchObject([
    { decided_at_ms: 7, pending: true, verdict: null },
    { decided_at_ms: 8, pending: false, verdict: { partner: 'net' } },
  ])
  expect(rest.at(-1)).toMatchObject({ kind: 'postback', fine: 3, did_win: true })
  expect(stream.text).not.toContain('192.0.2.')
  expect(stream.text).not.toContain('c-20')
})

it('shows an install from before its first event on, raw JSON to admins', async () => {
  const { app_id, company_id } = await newApp()
  const stream = await open(app_id, 'install_uuid=to-come', await signedIn('admin', company_id))
  decide(decisionOf(app_id, 'to-come', 7, 'organic'))
  await gatewayOf(feedKey(app_id))([event('to-come', 'e'), event('other', 'e')], 3)
  await stream.until((messages) => {
    expect(messages.find(({ kind }) => kind === 'accepted')).toEqual(event('to-come', 'e'))
    expect(messages).toContainEqual({ kind: 'gap', gap: 3 })
    expect(messages.filter(({ kind }) => kind === 'install' || kind === 'verdict')).toHaveLength(2)
  })
})

it('keeps little, whatever is clicked and sent before the install is known, and says what it misses', async () => {
  const { app_id } = await newApp()
  const link_id = await newLink(app_id)
  const [clicked, sent] = [gatewayOf(clicksKey(link_id)), gatewayOf(feedKey(app_id))]
  const stream = await open(app_id, `link_id=${link_id}`)
  const mine = randomUUID()
  await clicked([...Array.from({ length: 500 }, () => click('bot')), click(null, mine)], 1000)
  const large = (event_id: string) => ({ ...event('i-1', event_id), raw: 'x'.repeat(limits.live_raw_chars_max) })
  for (let n = 0; n < 10; n += 1) await sent(Array.from({ length: 50 }, (_, at) => large(`${n}-${at}`)))
  await stream.until((messages) => expect(messages).toContainEqual(click(null, mine)))
  tables.claims = [{ click_id: mine, install_uuid: 'i-1' }]
  const gap = () => stream.messages().reduce((sum, one) => sum + (one.kind === 'gap' ? one.gap : 0), 0)
  const shown = (kind: string) => stream.messages().filter((one) => one.kind === kind).length
  await stream.until(() => expect(gap() + shown('click') + shown('accepted')).toBe(1501 + 500))
  expect(shown('click')).toBe(limits.follow_clicks_of_write_max)
  expect(shown('accepted')).toBeGreaterThan(0)
  expect(stream.text.length).toBeLessThan(2 * limits.follow_waiting_chars_max)
})

it('is of one app and of those who read it, and takes few streams of a company', async () => {
  const { app_id, company_id } = await newApp()
  const foreign = await newApp()
  const [link_id, foreign_link] = [await newLink(app_id), await newLink(foreign.app_id)]
  const analyst = await signedIn('analyst', company_id)
  const statusOf = async (app: string, filter: string, as: Parameters<typeof open>[2] = analyst) =>
    (await open(app, `${filter}&seconds=0`, as)).status
  expect(await statusOf(foreign.app_id, 'install_uuid=i')).toBe(404)
  expect(await statusOf(app_id, `link_id=${foreign_link}`)).toBe(404)
  expect(await statusOf(app_id, 'install_uuid=i', await signedIn('privacy', company_id))).toBe(404)
  expect(await statusOf(app_id, 'install_uuid=i', await signedIn('operator'))).toBe(404)
  expect(await statusOf(app_id, '')).toBe(400)
  expect(await statusOf(app_id, `install_uuid=i&link_id=${link_id}`)).toBe(400)
  expect(await statusOf(app_id, `link_id=${link_id}`)).toBe(200)

  for (let n = 0; n < limits.follow_streams_of_company_max; n += 1)
    expect(await open(app_id, 'install_uuid=i')).toMatchObject({ status: 200 })
  expect(await open(app_id, 'install_uuid=i')).toMatchObject({ status: 429 })
  expect(await open(foreign.app_id, 'install_uuid=i')).toMatchObject({ status: 200 })
})

it('has its link followed only while somebody does, and ends with the session', async () => {
  const { app_id, company_id } = await newApp()
  const [link_id, other] = [await newLink(app_id), await newLink(app_id)]
  const analyst = await signedIn('analyst', company_id)
  const stream = await open(app_id, `link_id=${link_id}`, analyst)
  await open(app_id, `link_id=${other}`)
  const named = async () => JSON.parse((await keyValue.read(followed_key, 0, 1)).texts[0]!) as string[]
  await vi.waitFor(async () => expect(await named()).toEqual([link_id, other]), patience)
  await analyst.ask('POST', '/sign-out')
  await stream.until(() => expect(stream.ended).toBe(true))
  expect(stream.messages().at(-1)).toEqual({ kind: 'end', reason: 'session_ended' })
  await vi.waitFor(async () => expect(await named()).toEqual([other]), patience)
})
