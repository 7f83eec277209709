import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { hour_ms } from '@tributary/contracts/limits'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import type { Attack, Target } from '../attack.ts'
import { rest, send, sendSigned } from '../send.ts'

const phone = 'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/119.0.0.0 Mobile Safari/537.36'
const clicks = 38
/** How many installs an attack of full length sends; a short one sends the same for each of its seconds. */
const [bulk_installs_max, sdk_installs_max] = [20_000, 12_000]
const installs_per_s = 2000
const bulk_size = 1000
const batch_size = 500
const devices = 20

/** A backend sent installs of one device a day ahead; each click on the device had all of them decided again. */
export const installsAhead: Attack = {
  name: 'installs-ahead',
  what: `installs of one device, sent through bulk for 23 hours from now, and ${clicks} clicks with the id of the device`,
  expected: ['200', '302'],
  allowed: ['503 unavailable'],
  waits: true,
  run: (target) => tellInstalls(target, [randomUUID()], 23 * hour_ms),
  ordinary: (target) => tellInstalls(target, manyIds(bulk_installs_max), 0),
}

/** A holder of an app's secret, which is in each phone, sends installs of few devices. */
export const crowdedDevices: Attack = {
  name: 'crowded-devices',
  what: `installs of ${devices} devices, signed with the secret of an app`,
  expected: ['200'],
  allowed: ['503 unavailable'],
  waits: true,
  run: (target) => sendInstalls(target, manyIds(devices)),
  ordinary: (target) => sendInstalls(target, manyIds(sdk_installs_max)),
}

const manyIds = (length: number): string[] => Array.from({ length }, () => randomUUID())

async function tellInstalls(target: Target, ids: readonly string[], ahead_ms: number) {
  let sent = 0
  await inTurn(target, bulk_installs_max / bulk_size, () => {
    const events = Array.from({ length: bulk_size }, () => ({
      ...{ event_name: 'app_install', install_uuid: randomUUID(), event_ts_ms: Date.now() + ahead_ms },
      device: { os: 'android', gaid: ids[sent++ % ids.length] },
    }))
    const headers = { authorization: `Bearer ${target.attacker.server_key}` }
    const body = JSON.stringify({ events })
    return send(target, declaredRoutes.sendServerEvents.path, { method: 'POST', headers, body })
  })
  await inTurn(target, clicks, (n) => click(target, ids[n % ids.length]!, `203.0.113.${n}`))
  await rest(target, 3_600_000)
}

async function sendInstalls(target: Target, ids: readonly string[]) {
  let sent = 0
  await inTurn(target, sdk_installs_max / batch_size, () => {
    const events = Array.from({ length: batch_size }, () => ({
      ...{ event_id: randomUUID(), event_name: 'app_install', install_uuid: randomUUID(), event_ts_ms: Date.now() },
      device: { os: 'android', gaid: ids[sent++ % ids.length] },
    }))
    const body = gzipSync(JSON.stringify({ events, sent_at_ms: Date.now() }))
    return sendSigned(target, declaredRoutes.sendBatch.path, body, true)
  })
  await rest(target, 3_600_000)
}

/** Repeats a step in proportion to the length of the attack, at most `times_max` times. */
async function inTurn({ seconds, signal }: Target, times_max: number, step: (n: number) => Promise<unknown>) {
  const times = Math.min(times_max, Math.ceil((seconds * installs_per_s) / bulk_size))
  for (let n = 0; n < times && !signal.aborted; n += 1) await step(n)
}

function click(target: Target, gaid: string, ip: string) {
  const path = declaredRoutes.followLink.path.replace(':link_id', target.attacker.link_id)
  const headers = { 'user-agent': phone, 'x-forwarded-for': ip }
  return send(target, `${path}?gaid=${gaid}`, { method: 'GET', redirect: 'manual', headers })
}
