import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { report_path } from '@tributary/contracts/reports'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import { Agent, request } from 'undici'
import { victim_ip } from './addresses.ts'
import { answerName } from './answers.ts'
import { type AttackTenant, signedHeaders } from './tenants.ts'
import { type VictimFigures, victim_install, victim_ms_max } from './victim.ts'

/** How long the victim waits for an answer: longer than allowed, so that faults show their duration. */
const answer_ms_max = 40_000
const pause_ms = 100
const batch_events = 5

/** Sends requests until its end, each on a new connection. */
function startVictim(url: string, tenant: AttackTenant) {
  const agent = new Agent({ pipelining: 0 })
  const times_ms: number[] = []
  const faults: string[] = []
  let accepted = 0
  let stopping = false

  async function send(path: string, headers: Record<string, string>, body?: Buffer): Promise<string> {
    const started = performance.now()
    const signal = AbortSignal.timeout(answer_ms_max)
    const answer = await request(`${url}${path}`, {
      dispatcher: agent,
      signal,
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'x-forwarded-for': victim_ip, ...headers },
      ...(body && { body }),
    })
      .then(async ({ statusCode, body }) => ({ statusCode, text: await body.text() }))
      .catch((error: Error) => ({ statusCode: 0, text: error.message }))
    const ms = performance.now() - started
    times_ms.push(ms)
    if (answer.statusCode === 0) faults.push(`${path} had no answer: ${answer.text}`)
    else if (answer.statusCode !== 200) faults.push(`${path} answered ${answerName(answer.statusCode, answer.text)}`)
    else if (ms > victim_ms_max) faults.push(`${path} took ${Math.round(ms)} ms`)
    return answer.statusCode === 200 ? answer.text : '{}'
  }
  const take = (answer: string) => {
    accepted += (JSON.parse(answer) as { accepted?: number }).accepted ?? 0
  }

  const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
  const steps = [
    async () => {
      const body = Buffer.from(
        JSON.stringify({ events: Array.from({ length: batch_events }, () => makeEvent(victim_install)) }),
      )
      take(await send(declaredRoutes.sendBatch.path, signedHeaders(tenant, body), body))
    },
    async () =>
      take(
        await send(
          declaredRoutes.sendServerEvent.path,
          bearer(tenant.server_key),
          Buffer.from(JSON.stringify(makeEvent(randomUUID()))),
        ),
      ),
    async () => void (await send(report_path.replace(':report', 'events'), bearer(tenant.report_key))),
  ]
  const loops = steps.map(async (step) => {
    while (!stopping) {
      await step()
      await pause(pause_ms)
    }
  })
  return {
    /** Ends after the open requests. */
    async end(): Promise<VictimFigures> {
      stopping = true
      await Promise.all(loops)
      await agent.close()
      times_ms.sort((a, b) => a - b)
      const at = (share: number) => Math.round(times_ms[Math.floor((times_ms.length - 1) * share)]!)
      return { requests: times_ms.length, accepted, p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(1), faults }
    },
  }
}

const makeEvent = (install_uuid: string) => ({
  event_id: randomUUID(),
  event_name: 'level_up',
  install_uuid,
  event_ts_ms: Date.now(),
})

const { url, tenant } = workerData as { url: string; tenant: AttackTenant }
const victim = startVictim(url, tenant)
await once(parentPort!, 'message')
parentPort!.postMessage(await victim.end())
parentPort!.close()
