import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { day_ms, hour_ms } from '@tributary/contracts/limits'
import { report_path } from '@tributary/contracts/reports'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type AttackTenant, makeTenant, signedHeaders } from '../attack/tenants.ts'
import { tapLink } from '../attribution/phone.ts'
import { type StandaloneProcess, startStandaloneProcess, waitUntilWritten } from '../standalone/standalone-process.ts'

let data_dir: string
let service: StandaloneProcess | null
let tenant: AttackTenant
/** Ids of events that were acknowledged. */
let acknowledged: string[]

const clockFile = () => join(data_dir, '..', 'clock')
const start = () => {
  const preload = new URL('../standalone/moved-clock.mjs', import.meta.url).href
  return startStandaloneProcess({
    data_dir,
    env: { NODE_OPTIONS: `--import ${preload}`, TEST_CLOCK_FILE: clockFile() },
  })
}

beforeEach(async () => {
  data_dir = join(mkdtempSync(join(tmpdir(), 'tributary-clock-')), 'data')
  acknowledged = []
  writeFileSync(clockFile(), '0')
  service = await start()
  tenant = await makeTenant(service.url, readFileSync(join(data_dir, 'admin-token'), 'utf8').trim(), 'Clocks')
})
afterEach(async () => {
  await service?.stop('SIGKILL')
  rmSync(join(data_dir, '..'), { recursive: true, force: true })
})

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

async function sendEvent(event_id?: string): Promise<string> {
  // An hour ago by the client's clock, which is right.
  const event = { event_id, event_name: 'level_up', install_uuid: 'walker', event_ts_ms: Date.now() - hour_ms }
  const answer = await fetch(service!.url + declaredRoutes.sendServerEvent.path, {
    ...{ method: 'POST', headers: bearer(tenant.server_key), body: JSON.stringify(event) },
  })
  const accepted = (await answer.json()) as { event_id: string }
  expect({ status: answer.status, accepted }).toMatchObject({ status: 200 })
  acknowledged.push(accepted.event_id)
  return accepted.event_id
}

async function sendBatch(): Promise<void> {
  const event_id = randomUUID()
  const event = { event_id, event_name: 'level_up', install_uuid: 'walker', event_ts_ms: Date.now() - hour_ms }
  const body = Buffer.from(JSON.stringify({ events: [event], sent_at_ms: Date.now() }))
  const answer = await fetch(service!.url + declaredRoutes.sendBatch.path, {
    ...{ method: 'POST', headers: signedHeaders(tenant, body), body },
  })
  expect(await answer.json()).toMatchObject({ accepted: 1 })
  acknowledged.push(event_id)
}

/** The first 48 bits of an id that the service makes are its time. */
const timeOf = (uuid_v7: string) => Number.parseInt(uuid_v7.replaceAll('-', '').slice(0, 12), 16)

async function moveClock(ms: number): Promise<void> {
  writeFileSync(clockFile(), String(ms))
  await expect.poll(async () => Math.abs(timeOf(await sendEvent()) - Date.now() - ms)).toBeLessThan(10_000)
}

async function useAll(): Promise<void> {
  // Sent again, whatever the clock says by then.
  await sendEvent(acknowledged[0])
  await sendBatch()
  expect(await isTapCounted()).toBe(true)
}

async function isTapCounted(): Promise<boolean> {
  const link = service!.url + declaredRoutes.followLink.path.replace(':link_id', tenant.link_id)
  return (await tapLink(link, '198.51.100.20')).referrer?.includes('tb_click=') === true
}

/** Uses up the window of clicks of the network. */
async function spendClicks(): Promise<void> {
  const isSpent = async () => {
    await Promise.all(Array.from({ length: 50 }, isTapCounted))
    return !(await isTapCounted())
  }
  await expect.poll(isSpent).toBe(true)
}

async function expectCounted(): Promise<void> {
  await waitUntilWritten(service!.url, data_dir)
  const path = report_path.replace(':report', 'events')
  const window = `since_ms=${Date.now() - 5 * day_ms}&until_ms=${Date.now() + 2 * day_ms}`
  const answer = await fetch(`${service!.url}${path}?${window}`, { headers: bearer(tenant.report_key) })
  const { rows } = (await answer.json()) as { rows: { event_name: string; events: number }[] }
  const events = rows.filter((row) => row.event_name === 'level_up').reduce((sum, row) => sum + row.events, 0)
  expect(events).toBe(new Set(acknowledged).size)
}

it.each([
  ['ahead', 1],
  ['behind', -1],
])(
  'a process whose clock is %s by a minute, an hour and a day, and is corrected, refuses nobody and counts each event once',
  async (_where, way) => {
    await sendEvent('first')
    for (const jump_ms of [60_000, hour_ms, day_ms - 2 * hour_ms]) {
      await moveClock(way * jump_ms)
      await useAll()
      await spendClicks()
      await moveClock(0)
      await useAll()
    }
    await expectCounted()
    // Over a restart: it starts with a wrong clock, and then with the right one, on what the wrong one stored.
    for (const ms of [way * (day_ms - 2 * hour_ms), 0]) {
      expect(await service!.stop('SIGTERM')).toBe(0)
      writeFileSync(clockFile(), String(ms))
      service = await start()
      await useAll()
    }
    await expectCounted()
  },
)
