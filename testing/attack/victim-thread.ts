import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import type { Certificate } from '@tributary/contracts/admin/erasures'
import { report_path } from '@tributary/contracts/reports'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import { Agent, request } from 'undici'
import { adminApi } from '../fuzz/tenants.ts'
import { proxy_address, victim_ip } from './addresses.ts'
import { answerName } from './answers.ts'
import { type AttackTenant, signedHeaders } from './tenants.ts'
import {
  type Times,
  type VictimFigures,
  type VictimStep,
  victim_install,
  victim_ms_max,
  waitingSteps,
} from './victim.ts'

/** How long the victim waits for an answer: longer than allowed, so that faults show their duration. */
const answer_ms_max = 40_000
const pause_ms = 100
const batch_events = 5
/** Together more than a gateway judges between other requests. */
const large_events = 40
const large_props = { note: 'x'.repeat(15_000) }
/** Between two looks for a verdict or an event. */
const watch_ms = 100
/** The event whose number in the report is watched. */
const fresh_name = 'fresh'
const phone = {
  'user-agent': 'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/119.0.0.0 Mobile Safari/537.36',
}

/** Sends requests until its end, each on a new connection. */
function startVictim(url: string, tenant: AttackTenant, wanted: readonly VictimStep[], admin_token: string) {
  const admin = adminApi(url, admin_token)
  const agent = new Agent({ pipelining: 0 })
  const times = new Map<VictimStep, number[]>(wanted.map((step) => [step, []]))
  const faults: string[] = []
  let accepted = 0
  let stopping = false

  /** Status 0 means no answer, which is a fault. */
  async function ask(path: string, headers: Record<string, string>, body?: Buffer) {
    const signal = AbortSignal.timeout(answer_ms_max)
    try {
      const answer = await request(`${url}${path}`, {
        dispatcher: agent,
        signal,
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'x-forwarded-for': victim_ip, ...headers },
        ...(body && { body }),
      })
      return { status: answer.statusCode, text: await answer.body.text() }
    } catch (error) {
      const text = (error as Error).message
      faults.push(`${path} had no answer: ${text}`)
      return { status: 0, text }
    }
  }
  async function send(path: string, headers: Record<string, string>, body?: Buffer, expected = 200) {
    const { status, text } = await ask(path, headers, body)
    if (status === expected) return text
    if (status !== 0) faults.push(`${path} answered ${answerName(status, text)}`)
    return '{}'
  }
  const take = (answer: string) => {
    accepted += (JSON.parse(answer || '{}') as { accepted?: number }).accepted ?? 0
  }
  const sendBatch = async (events: object[]) => {
    const body = Buffer.from(JSON.stringify({ events }))
    take(await send(declaredRoutes.sendBatch.path, signedHeaders(tenant, body), body))
  }
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

  /** Asks until an answer is what was waited for. */
  async function watch(
    path: string,
    isThere: (text: string) => boolean,
    fault: string,
    headers: Record<string, string> = bearer(tenant.watch_key),
  ) {
    const until_ms = performance.now() + answer_ms_max
    while (performance.now() < until_ms) {
      const { status, text } = await ask(path, headers)
      if (status === 0 || (status === 200 && isThere(text))) return
      await pause(watch_ms)
    }
    faults.push(fault)
  }
  let fresh = 0

  const steps: Record<VictimStep, () => Promise<void>> = {
    event: () => sendBatch(Array.from({ length: batch_events }, () => makeEvent(victim_install))),
    large: () =>
      sendBatch(Array.from({ length: large_events }, () => ({ ...makeEvent(victim_install), props: large_props }))),
    async s2s() {
      const body = Buffer.from(JSON.stringify(makeEvent(randomUUID())))
      take(await send(declaredRoutes.sendServerEvent.path, bearer(tenant.server_key), body))
    },
    async report() {
      await send(report_path.replace(':report', 'events'), bearer(tenant.report_key))
    },
    async click() {
      await send(declaredRoutes.followLink.path.replace(':link_id', tenant.link_id), phone, undefined, 302)
    },
    /** The time holds the request and the wait for the verdict. */
    async verdict() {
      const install_uuid = randomUUID()
      await sendBatch([{ ...makeEvent(install_uuid), event_name: 'app_install' }])
      const path = declaredRoutes.getInstall.path.replace(':install_uuid', install_uuid)
      const isDecided = (text: string) => (JSON.parse(text) as { verdict: unknown }).verdict !== null
      await watch(path, isDecided, 'an install was not decided in time')
    },
    /** The time holds the request and the wait for the report. */
    async fresh() {
      await sendBatch([{ ...makeEvent(victim_install), event_name: fresh_name }])
      fresh += 1
      const path = report_path.replace(':report', 'events')
      const isCounted = (text: string) => {
        const { rows } = JSON.parse(text) as { rows: { event_name: string; events: number }[] }
        const named = rows.filter(({ event_name }) => event_name === fresh_name)
        return named.reduce((sum, { events }) => sum + events, 0) === fresh
      }
      await watch(path, isCounted, 'an event was not reported in time')
    },
    /** The time holds the request and the wait for the certificate. The event counts for nothing once it is erased. */
    async erased() {
      const { app_id } = tenant
      const install_uuid = randomUUID()
      const body = Buffer.from(JSON.stringify({ events: [makeEvent(install_uuid)] }))
      await send(declaredRoutes.sendBatch.path, signedHeaders(tenant, body), body)
      await admin('/erasures', { app_id, install_uuid })
      // It answers when the run has ended, which may be later than this erasure.
      admin('/erasures/run').catch((error: Error) => faults.push(error.message))
      const path = `${declaredRoutes.getErasure.path}?${new URLSearchParams({ app_id, install_uuid })}`
      const isErased = (text: string) => (JSON.parse(text) as Certificate).state === 'completed'
      // Only the machine itself may ask for it.
      const headers = { ...bearer(admin_token), 'x-forwarded-for': proxy_address }
      await watch(path, isErased, 'an erasure was not completed in time', headers)
    },
  }
  const loops = wanted.map(async (name) => {
    while (!stopping) {
      const started = performance.now()
      await steps[name]()
      const ms = performance.now() - started
      times.get(name)!.push(ms)
      if (!waitingSteps.includes(name) && ms > victim_ms_max) faults.push(`${name} took ${Math.round(ms)} ms`)
      await pause(pause_ms)
    }
  })
  return {
    /** Ends after the open requests. */
    async end(): Promise<VictimFigures> {
      stopping = true
      await Promise.all(loops)
      await agent.close()
      const requests = [...times].flatMap(([name, all]) => (waitingSteps.includes(name) ? [] : all))
      const each = [...times].map(([name, all]) => [name, timesOf(all)] as const)
      return { ...timesOf(requests), accepted, steps: Object.fromEntries(each), faults }
    },
  }
}

function timesOf(all: readonly number[]): Times {
  const sorted = all.toSorted((a, b) => a - b)
  const at = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0)
  return { requests: sorted.length, p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(1) }
}

const makeEvent = (install_uuid: string) => ({
  event_id: randomUUID(),
  event_name: 'level_up',
  install_uuid,
  event_ts_ms: Date.now(),
})

const { url, tenant, steps, admin_token } = workerData as {
  url: string
  tenant: AttackTenant
  steps: readonly VictimStep[]
  admin_token: string
}
const victim = startVictim(url, tenant, steps, admin_token)
await once(parentPort!, 'message')
parentPort!.postMessage(await victim.end())
parentPort!.close()
