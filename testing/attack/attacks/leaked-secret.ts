import { randomUUID } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import type { Attack, Target } from '../attack.ts'
import { inParallel, rest, send } from '../send.ts'
import { storedOf } from '../stored.ts'
import { signedHeaders } from '../tenants.ts'

const clients = 20
const addresses = 50
/** Installs of the same app whose users ask for their erasure, each from an address of its own. */
const genuine = Array.from({ length: 20 }, (_, n) => `genuine-${n}`)

/** Names of answers to the genuine requests that were not 202. */
const refusedIn = new WeakMap<Target, string[]>()

/** The attacker signs requests with a secret that it found in an app, and tries to keep the users of that app from theirs. */
export const leakedSecret: Attack = {
  name: 'leaked-secret',
  what: `erasure requests for made-up installs from ${addresses} addresses with the signing secret of an app, while users of that app ask too`,
  expected: ['429 rate_limited'],
  allowed: ['200', '202', '503 unavailable'],
  async run(target) {
    const refused: string[] = []
    refusedIn.set(target, refused)
    await sendEvents(target)
    const flood = inParallel(target, clients, () => ask(target, randomUUID(), `203.0.113.${randomInt(addresses)}`))
    while (!('429 rate_limited' in target.answers.all()) && !target.signal.aborted) await rest(target, 20)
    for (const [n, install_uuid] of genuine.entries()) {
      const { name } = await ask(target, install_uuid, `198.51.100.${100 + n}`)
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

async function sendEvents(target: Target): Promise<void> {
  const events = genuine.map((install_uuid) => ({
    ...{ event_id: randomUUID(), event_name: 'level_up', install_uuid, event_ts_ms: Date.now() },
  }))
  const body = Buffer.from(JSON.stringify({ events }))
  const headers = { ...signedHeaders(target.attacker, body), 'x-forwarded-for': '198.51.100.99' }
  await send(target, declaredRoutes.sendBatch.path, { method: 'POST', headers, body })
}

function ask(target: Target, install_uuid: string, address: string) {
  const body = Buffer.from(JSON.stringify({ install_uuid }))
  const headers = { ...signedHeaders(target.attacker, body), 'x-forwarded-for': address }
  return send(target, declaredRoutes.askForErasure.path, { method: 'POST', headers, body })
}
