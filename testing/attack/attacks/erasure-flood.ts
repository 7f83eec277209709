import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Certificate, ErasureRun } from '@tributary/contracts/admin/erasures'
import { limits } from '@tributary/contracts/limits'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import { waitUntilWritten } from '@tributary/testing/standalone/standalone-process'
import { adminApi } from '../../fuzz/tenants.ts'
import type { Attack, Target } from '../attack.ts'
import { inParallel, rest, send, sendSigned } from '../send.ts'
import { storedOf } from '../stored.ts'
import { makeTenant, signedHeaders } from '../tenants.ts'
import { victim_install } from '../victim.ts'

const clients = 20
const repeated = 400
const installs = 3

/** The attacker makes the service repeat and store the same work. */
export const erasureFlood: Attack = {
  name: 'erasure-flood',
  what: `${repeated} erasure requests for ${installs} installs, then as many for new installs as the service answers`,
  expected: ['429 rate_limited'],
  allowed: ['202', '503 unavailable'],
  async run(target) {
    await Promise.all(Array.from({ length: repeated }, (_, n) => requestErasure(target, `same-${n % installs}`)))
    await inParallel(target, clients, () => requestErasure(target, randomUUID()))
  },
  async check({ data_dir, attacker, started_ms }) {
    const { objects } = storedOf(data_dir, attacker.app_id)
    const same = objects.filter((name) => name.includes('/same-'))
    if (same.length > installs) return [`${same.length} objects for ${installs} installs`]
    const windows = 1 + Math.ceil((Date.now() - started_ms) / limits.erasures_window_ms)
    const most = windows * limits.erasures_max
    return objects.length > most ? [`${objects.length} objects of erasure requests, ${most} are allowed`] : []
  },
}

const requestErasure = (target: Target, install_uuid: unknown) =>
  sendSigned(target, declaredRoutes.askForErasure.path, Buffer.from(JSON.stringify({ install_uuid })), false)

/** Ids that no install has, or that others may take for one of the victim's. */
const strange_ids: readonly unknown[] = [
  ...[
    `${victim_install} `,
    `${victim_install}\u0000`,
    `\uff56ictim-install`,
    'v\u0456ctim-install',
    'victim-install\u0301',
  ],
  ...['a'.repeat(65), 'a'.repeat(300_000), '', '../../audit', '%', "' OR 1=1 --", 'a~1', 'a/b', '\ud800'],
  ...[17, null, true, [victim_install], { $ne: '' }, { install_uuid: victim_install }],
]
/** Ids that installs may have. None is the victim's install of the victim's app. */
const own_ids = [victim_install, victim_install.toUpperCase(), '_'.repeat(victim_install.length), '_', '-']
/** Installs of the attacker with something to erase. */
const burdens = Array.from({ length: 60 }, (_, n) => `burden-${n}`)
const burden_events = 15

/** The attacker tries to have others erased, and to keep the eraser from them. */
export const erasuresOfOthers: Attack = {
  name: 'erasures-of-others',
  what: "erasure requests for the victim's install with keys and signatures of others, strange ids, and installs that keep the eraser busy",
  expected: [
    ...['202', '400 install_uuid_required', '400 invalid_field', '400 missing_auth_headers'],
    ...['401 bad_signature', '401 unknown_app_key', '404 not_found'],
  ],
  allowed: ['200', '429 rate_limited', '503 unavailable'],
  async run(target) {
    const { attacker } = target
    const events = burdens.flatMap((install_uuid) =>
      Array.from({ length: burden_events }, (_, n) => {
        return { event_id: `${install_uuid}-${n}`, event_name: 'e', install_uuid, event_ts_ms: Date.now() - n }
      }),
    )
    const authorization = `Bearer ${attacker.server_key}`
    const body = JSON.stringify({ events })
    await send(target, declaredRoutes.sendServerEvents.path, { method: 'POST', headers: { authorization }, body })
    await Promise.all([...own_ids, ...burdens, ...strange_ids].map((id) => requestErasure(target, id)))
    const asked = Buffer.from(JSON.stringify({ install_uuid: victim_install }))
    const signed = signedHeaders(attacker, asked)
    const forged: Record<string, string>[] = [
      { ...signed, 'x-service-signature': '' },
      { ...signed, 'x-service-signature': '0'.repeat(64) },
      { ...signed, 'x-service-app-key': attacker.server_key },
      { authorization },
    ]
    const admin_paths = [declaredRoutes.requestErasure.path, declaredRoutes.runErasures.path]
    const init = { method: 'POST', headers: { authorization }, body: JSON.stringify({ app_id: attacker.app_id }) }
    const forge = () =>
      Promise.all([
        ...forged.map((headers) =>
          send(target, declaredRoutes.askForErasure.path, { method: 'POST', headers, body: asked }),
        ),
        ...admin_paths.map((path) => send(target, path, init)),
      ])
    await forge()
    await inParallel(target, 1, forge)
  },
  check: findErasureFaults,
}

/** Erases all, and an install of another app that asks behind the attacker. The report of the victim shows what it lost. */
async function findErasureFaults({ url, data_dir, attacker }: Target): Promise<string[]> {
  const token = readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
  const admin = adminApi(url, token)
  const { app_id } = await makeTenant(url, token, 'Bystander')
  await admin('/erasures', { app_id, install_uuid: 'behind' })
  await waitUntilWritten(url, data_dir)
  for (let run = await admin<ErasureRun>('/erasures/run'); !run.done; )
    run = await admin<ErasureRun>('/erasures/run', { run: run.run })
  const certificate = async (of: string, install_uuid: string) => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(`${url}/admin/api/v1/erasures?app_id=${of}&install_uuid=${install_uuid}`, { headers })
    return (await answer.json()) as Certificate
  }
  const behind = await certificate(app_id, 'behind')
  const all = await Promise.all(burdens.map((install_uuid) => certificate(attacker.app_id, install_uuid)))
  const last_ms = Math.max(...all.map(({ drained_at_ms }) => drained_at_ms ?? 0))
  const undone = [behind, ...all].filter(({ state }) => state !== 'completed').length
  return [
    ...(undone === 0 ? [] : [`${undone} erasures are not completed`]),
    ...((behind.drained_at_ms ?? 0) < last_ms ? [] : ['an app had to wait until the attacker was erased']),
  ]
}

const flood_addresses = 50
/** Installs of the same app whose users ask for their erasure, each from an address of its own. */
const genuine = Array.from({ length: 20 }, (_, n) => `genuine-${n}`)

/** Names of answers to the genuine requests that were not 202. */
const refusedIn = new WeakMap<Target, string[]>()

/** The attacker signs requests with a secret that it found in an app, and tries to keep the users of that app from theirs. */
export const leakedSecret: Attack = {
  name: 'leaked-secret',
  what: `erasure requests for made-up installs from ${flood_addresses} addresses with the signing secret of an app, while users of that app ask too`,
  expected: ['429 rate_limited'],
  allowed: ['200', '202', '503 unavailable'],
  async run(target) {
    const refused: string[] = []
    refusedIn.set(target, refused)
    await sendGenuineEvents(target)
    const flood = inParallel(target, clients, () =>
      askFrom(target, randomUUID(), `203.0.113.${randomInt(flood_addresses)}`),
    )
    while (!('429 rate_limited' in target.answers.all()) && !target.signal.aborted) await rest(target, 20)
    for (const [n, install_uuid] of genuine.entries()) {
      const { name } = await askFrom(target, install_uuid, `198.51.100.${100 + n}`)
      if (name !== '202') refused.push(name)
    }
    await flood
  },
  async check(target) {
    const refused = refusedIn.get(target) ?? []
    const { objects } = storedOf(target.data_dir, target.attacker.app_id)
    const made_up = objects.filter((name) => name.includes('/privacy/') && !name.includes('/genuine-'))
    const windows = 1 + Math.ceil((Date.now() - target.started_ms) / limits.erasures_window_ms)
    const most = windows * (limits.erasures_max + limits.erasures_of_unknown_max)
    return [
      ...(refused.length === 0 ? [] : [`${refused.length} users got ${refused[0]} for their erasure`]),
      ...(made_up.length > most ? [`${made_up.length} objects of made-up requests, ${most} are allowed`] : []),
    ]
  },
}

const randomInt = (below: number) => Math.floor(Math.random() * below)

async function sendGenuineEvents(target: Target): Promise<void> {
  const events = genuine.map((install_uuid) => ({
    ...{ event_id: randomUUID(), event_name: 'level_up', install_uuid, event_ts_ms: Date.now() },
  }))
  const body = Buffer.from(JSON.stringify({ events }))
  const headers = { ...signedHeaders(target.attacker, body), 'x-forwarded-for': '198.51.100.99' }
  await send(target, declaredRoutes.sendBatch.path, { method: 'POST', headers, body })
}

function askFrom(target: Target, install_uuid: string, address: string) {
  const body = Buffer.from(JSON.stringify({ install_uuid }))
  const headers = { ...signedHeaders(target.attacker, body), 'x-forwarded-for': address }
  return send(target, declaredRoutes.askForErasure.path, { method: 'POST', headers, body })
}
