import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import type { SentEvents } from '@tributary/testing/verify-events'
import { startApp } from '../attribution/phone.ts'
import { makeDevice } from '../fleet/events.ts'
import { type Load, startLoad } from '../fleet/load.ts'
import { type FleetRequest, post, sdkRequest } from '../fleet/requests.ts'
import { type PostbackLoad, startPostbacks } from '../fleet/soak/postbacks.ts'
import type { Stage } from './stage.ts'

/** What clients sent and services answered well, as only clients know it. */
export interface Sent {
  load: Load
  postbacks: PostbackLoad
  /** Events by app and name. */
  counts: Map<string, number>
  /** Installs by app and partner. */
  installs: Map<string, number>
  /** Events of phones. */
  phones: SentEvents[]
  clicks: number
}

const clients = 4
const again_ms = 250
const sent_ms_max = 120_000

export const partner = 'acme'
export const keyOf = (app_id: string, what: string): string => `${app_id} ${what}`
const add = (to: Map<string, number>, key: string, n = 1) => to.set(key, (to.get(key) ?? 0) + n)

/** Starts clients that send until they are answered. */
export function startSending({ fleet, gateway, postbacks }: Stage, events_per_second: number): Sent {
  const [counts, installs] = [new Map<string, number>(), new Map<string, number>()]
  const load = startLoad({
    ...{ tenants: fleet.tenants, gateways: [gateway.url], clients, events_per_second },
    onAcknowledged(request) {
      const [{ app_id } = { app_id: '' }] = request.sent
      for (const { event_name } of eventsOf(request)) {
        add(counts, keyOf(app_id, event_name))
        if (event_name === 'app_install') add(installs, keyOf(app_id, 'organic'))
      }
    },
  })
  return { load, postbacks: startPostbacks(postbacks.url), counts, installs, phones: [], clicks: 0 }
}

function eventsOf({ body, headers }: FleetRequest): { event_name: string }[] {
  const text = headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
  return (JSON.parse(text.toString()) as { events: { event_name: string }[] }).events
}

/** So many phones follow the link of the first app, and start that app. */
export async function bringPhones({ fleet, links, gateway }: Stage, sent: Sent, link_id: string, count: number) {
  const keys = fleet.tenants[0]!
  const { app_id } = keys
  for (let n = 0; n < count; n += 1) {
    const install_uuid = randomUUID()
    const ip = `198.51.${Math.floor(Math.random() * 256)}.${Math.floor(Math.random() * 256)}`
    await until(async () => (await follow(`${links.url}/l/${link_id}?gaid=${install_uuid}`, ip)) === 302)
    sent.clicks += 1
    await until(async () => (await startApp(gateway.url, keys, { install_uuid, ip }).catch(() => 0)) === 200)
    sent.phones.push({ app_id, install_uuid, event_ids: ['install'] })
    add(sent.counts, keyOf(app_id, 'app_install'))
    add(sent.installs, keyOf(app_id, partner))
  }
}

const agent = 'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/126.0.6478.122 Mobile Safari/537.36'

/** The status of the answer to a tap; 0 without any. */
export async function follow(url: string, ip: string): Promise<number> {
  const headers = { 'user-agent': agent, 'x-forwarded-for': ip }
  const answer = await fetch(url, { headers, redirect: 'manual' }).catch(() => null)
  await answer?.arrayBuffer()
  return answer?.status ?? 0
}

/** Sends some events of an install that will be erased, and returns the install. */
export async function sendOfPerson({ fleet, gateway }: Stage): Promise<string> {
  const batch = makeDevice().nextBatch(10)
  const request = sdkRequest(fleet.tenants[0]!, batch)
  await until(async () => (await post(gateway.url, request))?.status === 200)
  return batch.install_uuid
}

/** Repeats what fails. */
async function until(isDone: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + sent_ms_max; !(await isDone()); await pause(again_ms))
    if (Date.now() > deadline) throw new Error(`not done in ${sent_ms_max} ms: ${isDone}`)
}

/** Resolves when clients have so many more answers. */
export async function untilMore({ load }: Sent, events: number): Promise<void> {
  const before = load.acknowledged_events()
  await until(async () => load.acknowledged_events() >= before + events)
}
