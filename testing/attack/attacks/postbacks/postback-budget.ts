import { randomBytes, randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { day_ms, limits } from '@tributary/contracts/limits'
import { report_path } from '@tributary/contracts/reports'
import { openEmbeddedKeyValue } from '@tributary/key-value/embedded'
import { addressBudgetKey } from '@tributary/postback-gateway/budget'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import { waitUntilWritten } from '@tributary/testing/standalone/standalone-process'
import { adminApi } from '../../../fuzz/tenants.ts'
import type { Attack, Target } from '../../attack.ts'
import { inParallel, rest, send } from '../../send.ts'
import { serveKeys, signPostback } from './served-keys.ts'

/** It has sent since the morning: so much of its budget of the day is left. */
const address = '203.0.113.98'
const left_bytes = 128 * 1024
/** Postbacks of the address, its own and those of people behind the same one, stay below the rate of a minute. */
const large_max = 300
const honest_max = 200
/** Forged ones that name the victim's store id: this many made its report 13 times slower. */
const named_max = 12_000
const clients = 24

const { path } = declaredRoutes.sendSkanPostback
const hex = () => randomBytes(8).toString('hex')
const wanderer = () => `2001:db8:${randomInt(65_536).toString(16)}:${randomInt(65_536).toString(16)}::1`

const forged = (fields: object): string => JSON.stringify({ version: '4.0', 'transaction-id': hex(), ...fields })

/** The largest body that is taken. */
function largeBody(store_id: number): string {
  const small = forged({ 'app-id': store_id, x: '' })
  return small.replace(
    '"x":""',
    `"x":"${randomBytes(8192)
      .toString('hex')
      .slice(small.length - limits.postback_body_bytes_max)}"`,
  )
}

/** An app that postbacks belong to, and how it fares. */
interface Victim {
  store_id: number
  report_key: string
  /** Its report before the attack. */
  calm_ms: number
  /** Honest postbacks that were stored, and answers to others. */
  honest: number
  refused: string[]
  /** Large ones of the address that were stored. */
  large: number
}
const victims = new WeakMap<Target, Victim>()

/** A stranger fills the disk from one address, and names the app of somebody else from many. */
export const postbackBudget: Attack = {
  name: 'postback-budget',
  what: `one address sends 8 KiB postbacks beyond its day's budget, others name a victim's store id ${named_max} times`,
  expected: ['200', '429 rate_limited'],
  allowed: ['503 unavailable'],
  async prepare(data_dir) {
    const keyValue = await openEmbeddedKeyValue({ dir: join(data_dir, 'key-value'), now: Date.now })
    for (const ms of [Date.now(), Date.now() + day_ms]) {
      const key = addressBudgetKey(new Date(ms).toISOString().slice(0, 10), address)
      await keyValue.addCapped(key, limits.postback_address_day_bytes_max - left_bytes, null, 2 * day_ms)
    }
    await keyValue.close()
    const { url, close } = await serveKeys()
    return { env: { TRIBUTARY_AAK_JWKS_URL: url }, close }
  },
  async run(target) {
    const victim = await makeVictim(target)
    victims.set(target, victim)
    const { store_id } = victim
    const from = (ip: string) => ({ method: 'POST', headers: { 'x-forwarded-for': ip } })
    let [large, named] = [0, 0]
    await inParallel(target, clients, async (client) => {
      if (client === 0 && large++ < large_max) {
        const { name } = await send(target, path, { ...from(address), body: largeBody(store_id) })
        if (name === '200') victim.large += 1
      } else if (client === 1 && victim.honest < honest_max) {
        await sendHonest(target, victim)
        await rest(target, 20)
      } else if (client > 1 && named++ < named_max) {
        const app =
          named % 2 === 0 ? { 'app-id': store_id } : { 'app-id': randomInt(2 ** 40), 'source-app-id': store_id }
        await send(target, path, { ...from(wanderer()), body: forged({ ...app, 'ad-network-id': hex() }) })
      } else await rest(target, 50)
    })
  },
  async check(target) {
    const victim = victims.get(target)!
    await waitUntilWritten(target.url, target.data_dir)
    const { installs, ms } = await readReport(target, victim)
    const faults = victim.refused.map((name) => `an honest postback was answered ${name}`).slice(0, 1)
    if (victim.honest === 0) faults.push('no honest postback was stored')
    if (installs !== victim.honest) faults.push(`${victim.honest} honest postbacks stored, ${installs} reported`)
    const most = Math.floor(left_bytes / limits.postback_body_bytes_max)
    if (victim.large > most) faults.push(`${victim.large} large postbacks were stored, the budget has room for ${most}`)
    const ms_max = Math.max(2 * victim.calm_ms, report_ms_min)
    if (ms > ms_max) faults.push(`the report took ${Math.round(ms)} ms, ${Math.round(victim.calm_ms)} ms before`)
    return faults
  },
}

/** A report that takes less is no fault, whatever it took before: tests run side by side. */
const report_ms_min = 600

async function makeVictim(target: Target): Promise<Victim> {
  const admin = adminApi(target.url, readFileSync(join(target.data_dir, 'admin-token'), 'utf8').trim())
  const store_id = randomInt(2 ** 33, 2 ** 40)
  const { company_id } = await admin<{ company_id: string }>('/companies', { name: 'Named', plan: 'unlimited' })
  const input = { company_id, name: 'Named', platform: 'ios', store_id: String(store_id) }
  const { app_id } = await admin<{ app_id: string }>('/apps', input)
  const { key } = await admin<{ key: string }>('/keys', { app_id, label: 'report', allowed_events: [] })
  const victim = { store_id, report_key: key, calm_ms: 0, honest: 0, refused: [], large: 0 }
  for (let n = 0; n < 20; n += 1) await sendHonest(target, victim)
  let installs = 0
  while (installs < victim.honest) ({ installs, ms: victim.calm_ms } = await readReport(target, victim))
  return victim
}

/** A person behind the attacker's address. Its phone sends again what was answered 503. */
async function sendHonest(target: Target, victim: Victim): Promise<void> {
  const headers = { 'x-forwarded-for': address }
  const body = signPostback(victim.store_id)
  const { name } = await send(target, declaredRoutes.sendAakPostback.path, { method: 'POST', headers, body })
  if (name === '200') victim.honest += 1
  else if (!name.startsWith('503')) victim.refused.push(name)
}

/** Installs of all pages, and the median time of its first page. */
async function readReport({ url }: Target, { report_key }: Victim): Promise<{ installs: number; ms: number }> {
  const times: number[] = []
  let installs = 0
  const read = async (offset: number) => {
    const window = `since_ms=${Date.now() - day_ms}&until_ms=${Date.now() + day_ms}&limit=1000&offset=${offset}`
    const answer = await fetch(`${url}${report_path.replace(':report', 'skan')}?${window}`, {
      headers: { authorization: `Bearer ${report_key}` },
    })
    return ((await answer.json()) as { rows: { installs: number }[] }).rows
  }
  for (let n = 0; n < 9; n += 1) {
    const began = performance.now()
    await read(0)
    times.push(performance.now() - began)
  }
  for (let offset = 0; ; offset += 1000) {
    const rows = await read(offset)
    installs += rows.reduce((sum, row) => sum + row.installs, 0)
    if (rows.length < 1000) break
  }
  return { installs, ms: times.toSorted((a, b) => a - b)[4]! }
}
