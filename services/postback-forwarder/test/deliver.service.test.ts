import { createHmac } from 'node:crypto'
import { day_ms, limits } from '@tributary/contracts/limits'
import { retryDead, takeDue } from '@tributary/tables/partners/due-postbacks'
import { findPartner, removePartner, setPartner } from '@tributary/tenancy/companies/partner-settings'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { memoryTombstones } from '@tributary/testing/twins/memory-tombstones'
import { expect, onTestFinished, test, vi } from 'vitest'
import { clock_ms, listen, masterKeys, openStage } from './deliver-stage.ts'

const patient = { timeout: 180_000, interval: 20 }
const request = { actor: 'test', request_id: 'r', now_ms: 1 }

/** A partner that keeps what it hears. */
async function startPartner(status: () => number = () => 200) {
  const heard: { key: string; path: string; method: string; signature: string; body: string }[] = []
  const { port } = await listen((incoming, response) => {
    let body = ''
    incoming.on('data', (part) => {
      body += part
    })
    incoming.on('end', () => {
      const { url: path = '', method = '', headers } = incoming
      const signature = String(headers['x-tributary-signature'])
      heard.push({ key: String(headers['idempotency-key']), path, method, signature, body })
      response.writeHead(status()).end('answer')
    })
  })
  return { heard, url: `http://127.0.0.1:${port}` }
}

test('a kill between answer and mark, before the log, or before the request repeats under the same key with the same content', async () => {
  const { owe, start, states, later } = await openStage()
  const partner = await startPartner()
  await owe('ads', `${partner.url}/a?i={install_uuid}`, 30)
  for (const step of ['taken', 'answered'] as const) {
    let left = 5
    const killed = start({
      crash(at) {
        if (at === step && --left === 0) throw new Error('killed')
      },
    })
    await expect(killed.work).rejects.toThrow('killed')
    await later(limits.partner_lease_ms + 1000) // leases end
  }
  start()
  start()
  await vi.waitFor(async () => expect(await states()).toEqual({ 'ads delivered': 30 }), patient)
  const paths = Map.groupBy(partner.heard, ({ key }) => key)
  expect(paths.size).toBe(30)
  for (const of of paths.values()) expect(new Set(of.map(({ path }) => path)).size).toBe(1)
  expect(new Set(partner.heard.map(({ path }) => path)).size).toBe(30)
})

test('two processes and many postbacks: without a kill each arrives once', async () => {
  const { owe, start, states } = await openStage()
  const partner = await startPartner()
  await owe('ads', `${partner.url}/a?i={install_uuid}`, 300)
  start()
  start()
  await vi.waitFor(async () => expect(await states()).toEqual({ 'ads delivered': 300 }), patient)
  expect(partner.heard).toHaveLength(300)
})

test('an unforeseen fault of a try ends the work with it, and the next call goes on', async () => {
  const { owe, start, states, later } = await openStage()
  const partner = await startPartner()
  await owe('ads', `${partner.url}/a?i={install_uuid}`, 3)
  let left = 1
  const running = start({
    crash() {
      if (left-- > 0) throw new Error('unforeseen')
    },
  })
  await expect(running.work).rejects.toThrow('unforeseen')
  await later(limits.partner_lease_ms + 1000) // the lease ends
  void running.workAgain()
  await vi.waitFor(async () => expect(await states()).toEqual({ 'ads delivered': 3 }), patient)
})

test('a database that is away while a secret is read is no failure of the partner, and ends the work until the next call', async () => {
  const { owe, start, states, later, pool, logged } = await openStage()
  const partner = await startPartner()
  await owe('ads', `${partner.url}/a?i={install_uuid}`, 1, { hmac_secret: 'very-secret' })
  let left = 1
  const query = (text: string, values?: unknown[]) => {
    if (`${text}`.includes('FROM partner_secrets') && left-- > 0) throw new Error('PostgreSQL is away')
    return pool.query(text, values)
  }
  const running = start({ postgres: { query } as never })
  await expect(running.work).rejects.toThrow('PostgreSQL is away')
  expect(logged).toEqual([])
  await later(limits.partner_lease_ms + 1000) // the lease ends
  void running.workAgain()
  await vi.waitFor(async () => expect(await states()).toEqual({ 'ads delivered': 1 }), patient)
  expect(logged).toMatchObject([{ outcome: 'delivered' }])
})

test('what was answered while the log of tries is away is not sent again when its lease ends', async () => {
  const { owe, start, states, later, log } = await openStage()
  const partner = await startPartner()
  await owe('ads', `${partner.url}/a?i={install_uuid}`, 1)
  log.away = true
  start()
  await vi.waitFor(() => expect(log.failures).toBeGreaterThan(0), patient)
  await later(limits.partner_lease_ms + 1000)
  const { failures } = log
  await vi.waitFor(() => expect(log.failures).toBeGreaterThan(failures + 1), patient)
  log.away = false
  await vi.waitFor(async () => expect(await states()).toEqual({ 'ads delivered': 1 }), patient)
  expect(partner.heard).toHaveLength(1)
})

test('a stop in the middle of tries leaves them due at once', async () => {
  const { owe, start, states, pool } = await openStage()
  const { port } = await listen(() => {})
  await owe('ads', `http://127.0.0.1:${port}/`, 1)
  const running = start()
  await vi.waitFor(async () => {
    expect((await pool.query('SELECT 1 FROM due_postbacks WHERE leased')).rowCount).toBe(1)
  }, patient)
  await running.end()
  expect(await states()).toEqual({ 'ads due': 1 })
  expect((await pool.query('SELECT leased FROM due_postbacks')).rows).toEqual([{ leased: false }])
})

test('a signature is made anew for each try, key and content stay; a secret is in no log line and in no row', async () => {
  const { owe, start, lines, logged, later, states } = await openStage()
  let status = 500
  const partner = await startPartner(() => status)
  await owe('ads', `${partner.url}/a?i={install_uuid}`, 1, { method: 'POST', hmac_secret: 'very-secret' })
  start()
  await vi.waitFor(() => expect(logged).toHaveLength(1), patient)
  status = 200
  await later(10_000)
  await vi.waitFor(async () => expect(await states()).toEqual({ 'ads delivered': 1 }), patient)
  const [first, second] = partner.heard
  expect(second).toMatchObject({ key: first!.key, path: first!.path, body: first!.body })
  expect(second!.signature).not.toBe(first!.signature)
  for (const { signature, method, path, body } of partner.heard) {
    const [, t, v1] = /^t=(\d+),v1=(.+)$/.exec(signature)!
    expect(createHmac('sha256', 'very-secret').update(`${t}.${method} ${path}.${body}`).digest('hex')).toBe(v1)
  }
  expect(JSON.parse(first!.body)).toMatchObject({ install_uuid: 'i-0', sub1: null, event_ts_ms: 1 })
  expect(JSON.stringify([lines, logged])).not.toContain('very-secret')
})

test('a postback is tried for 24 hours with growing pauses, then it is dead; it is sent again by command, with the settings of now', async () => {
  const { owe, start, logged, later, states, pool, app_id } = await openStage()
  let status = 503
  const partner = await startPartner(() => status)
  await owe('ads', `${partner.url}/old?i={install_uuid}`, 1)
  start()
  const pauses: number[] = []
  while ((await states())['ads dead'] === undefined) {
    const tries = logged.length
    const { rows } = await pool.query<{ wait_ms: number; left_ms: number; leased: boolean }>(
      `SELECT (next_try_ms - ${clock_ms})::float8 AS wait_ms, (give_up_ms - ${clock_ms})::float8 AS left_ms, leased FROM due_postbacks`,
    )
    if (!rows[0]!.leased && rows[0]!.wait_ms > 0) {
      pauses.push(rows[0]!.wait_ms / 1000)
      // Behind the breaker too; after some pauses to the end of the day.
      await later(pauses.length < 9 ? rows[0]!.wait_ms + 61_000 : rows[0]!.left_ms - 1000)
    }
    await vi.waitFor(
      async () => expect(logged.length > tries || (await states())['ads dead'] === 1).toBe(true),
      patient,
    )
    await vi.waitFor(
      async () => expect((await pool.query('SELECT 1 FROM due_postbacks WHERE leased')).rowCount).toBe(0),
      patient,
    )
  }
  // The clock goes on while the table is read.
  const expected = [5, 10, 20, 40, 80, 160, 320, 640, 900]
  expect(pauses.map((pause, n) => (pause <= expected[n]! && pause > expected[n]! - 3 ? expected[n] : pause))).toEqual(
    expected,
  )
  status = 200
  const named = { app_id, partner: 'ads' }
  await setPartner(
    { pool, masterKeys },
    {
      ...named,
      postback_url: `${partner.url}/new?i={install_uuid}`,
      method: 'GET',
      events: ['install'],
      flagged: 'skip',
    },
    request,
  )
  const settings = await findPartner(pool, named)
  await later(61_000)
  expect(await retryDead(pool, named, settings!.settings_id)).toBe(1)
  await vi.waitFor(async () => expect(await states()).toEqual({ 'ads delivered': 1 }), patient)
  expect(partner.heard.at(-1)).toMatchObject({ key: partner.heard[0]!.key, path: '/new?i=i-0' })
})

test('what is due to a removed partner dies, and nothing is sent without the master key of its secret', async () => {
  const { owe, start, logged, pool, app_id, states } = await openStage()
  const partner = await startPartner()
  await owe('gone', `${partner.url}/`, 2)
  await owe('locked', `${partner.url}/`, 1, { hmac_secret: 's' })
  await removePartner(pool, { app_id, partner: 'gone' }, request)
  start({ masterKeys: openMasterKeys([{ id: 'other', key: Buffer.alloc(32, 2) }]) })
  await vi.waitFor(async () => expect(await states()).toMatchObject({ 'gone dead': 2, 'locked due': 1 }), patient)
  await vi.waitFor(() => expect(logged).toHaveLength(3), patient)
  expect(new Set(logged.map(({ reason }) => reason))).toEqual(new Set(['partner_removed', 'secret_unreadable']))
  expect(partner.heard).toEqual([])
})

test('what was due when a partner was removed stays unsent once the partner is set again', async () => {
  const { owe, start, pool, app_id, states } = await openStage()
  const partner = await startPartner()
  await owe('back', `${partner.url}/before`, 2)
  await removePartner(pool, { app_id, partner: 'back' }, request)
  // Another version of the partner, with one postback of its own.
  await owe('back', `${partner.url}/after`, 0)
  const settings = await findPartner(pool, { app_id, partner: 'back' })
  await pool.query(`UPDATE due_postbacks SET settings_id = $1 WHERE install_uuid = 'i-1'`, [settings!.settings_id])
  start()
  await vi.waitFor(async () => expect(await states()).toEqual({ 'back dead': 1, 'back delivered': 1 }), patient)
  expect(partner.heard.map(({ path }) => path)).toEqual(['/after'])
})

test('a process whose clock is a day ahead or behind gives nothing up, and leaves no pause that others see', async () => {
  const { owe, start, states, pool, logged, later } = await openStage()
  let status = 503
  const partner = await startPartner(() => status)
  await owe('ads', `${partner.url}/a?i={install_uuid}`, 1)
  for (const [n, ahead_ms] of [2 * day_ms, -2 * day_ms].entries()) {
    const wrong = start({ now: () => Date.now() + ahead_ms })
    await vi.waitFor(() => expect(logged).toHaveLength(n + 1), patient)
    await wrong.end()
    const { rows } = await pool.query(
      `SELECT state, leased, (next_try_ms - ${clock_ms})::float8 <= ${limits.partner_retry_ms} * 2 ^ $1 AS soon FROM due_postbacks`,
      [n],
    )
    expect(rows).toEqual([{ state: 'due', leased: false, soon: true }])
    await later(60_000)
  }
  status = 200
  start()
  await vi.waitFor(async () => expect(await states()).toEqual({ 'ads delivered': 1 }), patient)
})

test('what a process tries is left alone by one whose clock is ahead', async () => {
  const { owe, start, pool, app_id, states, logged } = await openStage()
  const partner = await startPartner()
  await owe('ads', `${partner.url}/`, 1)
  await owe('other', `${partner.url}/`, 1)
  expect(await takeDue(pool, [{ app_id, partner: 'ads', max: 1 }])).toHaveLength(1)
  start({ now: () => Date.now() + day_ms })
  await vi.waitFor(async () => expect(await states()).toEqual({ 'ads due': 1, 'other delivered': 1 }), patient)
  expect(logged).toMatchObject([{ partner: 'other' }])
})

/** A partner whose first answer is quick, and whose later ones come when they are let go. */
async function startHeldPartner(status = 200) {
  const heard: string[] = []
  const held: (() => void)[] = []
  const { port } = await listen((incoming, response) => {
    heard.push(incoming.url ?? '')
    if (heard.length === 1) response.end('first')
    else held.push(() => void response.writeHead(status).end('answer'))
  })
  const letGo = () => {
    for (const answer of held.splice(0)) answer()
  }
  return { heard, letGo, url: `http://127.0.0.1:${port}` }
}
const at_once = limits.partner_tries_at_once_max

test('the next try of a partner that drains begins when one ends, whatever PostgreSQL does', async () => {
  const { owe, start, pool } = await openStage()
  const partner = await startHeldPartner()
  await owe('ads', `${partner.url}/a?i={install_uuid}`, 100)
  let away = Promise.resolve()
  const query = (config: never, values: never) => away.then(() => pool.query(config, values))
  start({ postgres: { query } as never })
  await vi.waitFor(() => expect(partner.heard).toHaveLength(1 + at_once), patient)
  const back = Promise.withResolvers<void>()
  onTestFinished(() => back.resolve())
  away = back.promise
  partner.letGo()
  await vi.waitFor(() => expect(partner.heard).toHaveLength(1 + 2 * at_once), { ...patient, timeout: 20_000 })
})

test('what was taken ahead is given back untried once the partner fails, and at a stop', async () => {
  const { owe, start, pool, states, logged } = await openStage()
  const partner = await startHeldPartner(500)
  await owe('ads', `${partner.url}/a?i={install_uuid}`, 100)
  const leased = async () => (await pool.query('SELECT 1 FROM due_postbacks WHERE leased')).rowCount
  const running = start()
  await vi.waitFor(() => expect(partner.heard).toHaveLength(1 + at_once), patient)
  await vi.waitFor(async () => expect(await leased()).toBeGreaterThanOrEqual(2 * at_once), patient)
  partner.letGo()
  await vi.waitFor(async () => expect(await leased()).toBe(0), patient)
  await running.end()
  expect(await leased()).toBe(0)
  expect(await states()).toEqual({ 'ads delivered': 1, 'ads due': 99 })
  expect(logged).toHaveLength(partner.heard.length)
})

test('what was taken ahead is not sent once its install is erased', async () => {
  const { owe, start, pool, app_id, states, now } = await openStage()
  const partner = await startHeldPartner()
  await owe('ads', `${partner.url}/a?i={install_uuid}`, 1 + 2 * at_once)
  const erased = memoryTombstones()
  start({ erased })
  await vi.waitFor(() => expect(partner.heard).toHaveLength(1 + at_once), patient)
  const { rows } = await pool.query<{ install_uuid: string }>('SELECT install_uuid FROM due_postbacks')
  const left = rows.filter(({ install_uuid }) => !partner.heard.includes(`/a?i=${install_uuid}`))
  for (const { install_uuid } of left) erased.erase(app_id, install_uuid, now())
  const rowsLeft = async () => (await pool.query('SELECT 1 FROM due_postbacks')).rowCount
  await vi.waitFor(async () => expect(await rowsLeft()).toBe(1 + at_once), patient)
  partner.letGo()
  await vi.waitFor(async () => expect(await states()).toEqual({ 'ads delivered': 1 + at_once }), patient)
  expect(partner.heard).toHaveLength(1 + at_once)
})

test('what was taken ahead is not sent once its install is erased, also while nothing more is taken', async () => {
  const { owe, start, pool, app_id, states, now, log } = await openStage()
  const partner = await startHeldPartner()
  await owe('ads', `${partner.url}/a?i={install_uuid}`, 1 + 2 * at_once)
  const erased = memoryTombstones()
  log.away = true
  start({ erased })
  await vi.waitFor(() => expect(log.failures).toBeGreaterThan(0), patient)
  await vi.waitFor(() => expect(partner.heard).toHaveLength(1 + at_once), patient)
  const { rows } = await pool.query<{ install_uuid: string }>('SELECT install_uuid FROM due_postbacks WHERE leased')
  expect(rows).toHaveLength(1 + 2 * at_once)
  const left = rows.filter(({ install_uuid }) => !partner.heard.includes(`/a?i=${install_uuid}`))
  for (const { install_uuid } of left) erased.erase(app_id, install_uuid, now())
  const rowsLeft = async () => (await pool.query('SELECT 1 FROM due_postbacks')).rowCount
  await vi.waitFor(async () => expect(await rowsLeft()).toBe(1 + at_once), { ...patient, timeout: 10_000 })
  partner.letGo()
  log.away = false
  await vi.waitFor(async () => expect(await states()).toEqual({ 'ads delivered': 1 + at_once }), patient)
  expect(partner.heard).toHaveLength(1 + at_once)
})

test('nothing of an erased install is sent once its tombstone is there, whatever the eraser has still to do', async () => {
  const { owe, start, pool, app_id, states, logged, now } = await openStage()
  const partner = await startPartner()
  await owe('ads', `${partner.url}/a?i={install_uuid}`, 3)
  const erased = memoryTombstones()
  erased.erase(app_id, 'i-1', now())
  start({ erased })
  await vi.waitFor(async () => expect(await states()).toEqual({ 'ads delivered': 2 }), patient)
  expect(partner.heard.map(({ path }) => path).toSorted()).toEqual(['/a?i=i-0', '/a?i=i-2'])
  expect(logged.map(({ install_uuid }) => install_uuid).toSorted()).toEqual(['i-0', 'i-2'])
  expect((await pool.query(`SELECT 1 FROM due_postbacks WHERE install_uuid = 'i-1'`)).rowCount).toBe(0)
})

test('a try of an erased install that waited for its log longer than the eraser waits for it comes into no log', async () => {
  const { owe, start, states, app_id, later, log, logged, now } = await openStage()
  const partner = await startPartner()
  await owe('ads', `${partner.url}/a?i={install_uuid}`, 2)
  const erased = memoryTombstones()
  log.away = true
  start({ erased })
  await vi.waitFor(() => expect(log.failures).toBeGreaterThan(0), patient)
  await vi.waitFor(() => expect(partner.heard).toHaveLength(2), patient)
  erased.erase(app_id, 'i-1', now())
  await later(limits.partner_lease_ms)
  log.away = false
  await vi.waitFor(async () => expect(await states()).toEqual({ 'ads delivered': 2 }), patient)
  expect(new Set(logged.map(({ install_uuid }) => install_uuid))).toEqual(new Set(['i-0']))
})
