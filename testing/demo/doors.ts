import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { declaredRoutes } from '@tributary/standalone/declared-routes'

/** An app and the keys that send for it. */
export interface DemoApp {
  platform: 'android' | 'ios'
  app_id: string
  app_key: string
  company_key: string
  signing_secret: string
  server_key: string
}

export type DemoEvent = Record<string, unknown> & { event_name: string; install_uuid: string; event_ts_ms: number }

const agents = {
  android: 'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36',
  ios: 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 Version/18.1 Mobile/15E148 Safari/604.1',
}

/** Requests open at once. */
const open_max = 24
const tries_max = 20

/** Runs work, some of it at once; the first failure is thrown when all that runs has ended. */
export async function inParallel(work: readonly (() => Promise<void>)[]): Promise<void> {
  const left = work.values()
  const runner = async () => {
    for (const one of left) await one()
  }
  const ended = await Promise.allSettled(Array.from({ length: open_max }, runner))
  for (const one of ended) if (one.status === 'rejected') throw one.reason
}

/** Sends as SDKs, backends, browsers and Apple do, to the doors of a running service. */
export function openDoors(url: string, now: () => number) {
  async function send(path: string, init: RequestInit): Promise<Response> {
    for (let tries = 1; ; tries += 1) {
      const answer = await fetch(url + path, { redirect: 'manual', ...init })
      if (answer.status < 400) return answer
      const text = await answer.text()
      if ((answer.status !== 429 && answer.status !== 503) || tries === tries_max)
        throw new Error(`${path} answered ${answer.status} ${text}`)
      await sleep(100 * tries)
    }
  }
  const bearer = (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' })

  return {
    /** A batch of an SDK from an address. */
    async batch(app: DemoApp, ip: string, events: readonly DemoEvent[]): Promise<void> {
      const body = JSON.stringify({ events, sent_at_ms: now() })
      const headers = {
        ...{ 'content-type': 'application/json', 'x-forwarded-for': ip, 'x-service-sdk': 'demo/1.0' },
        ...{ 'x-service-company-key': app.company_key, 'x-service-app-key': app.app_key },
        'x-service-signature': createHmac('sha256', app.signing_secret).update(body).digest('hex'),
      }
      await (await send(declaredRoutes.sendBatch.path, { method: 'POST', headers, body })).arrayBuffer()
    },
    /** Events of a backend. */
    async backend(app: DemoApp, events: readonly DemoEvent[]): Promise<void> {
      const body = JSON.stringify({ events })
      const headers = bearer(app.server_key)
      await (await send(declaredRoutes.sendServerEvents.path, { method: 'POST', headers, body })).arrayBuffer()
    },
    /** A tap on a link; the referrer that the store hands to the app, null on iOS. */
    async tap(
      { platform }: DemoApp,
      link_id: string,
      ip: string,
      query: Record<string, string>,
    ): Promise<string | null> {
      const path = `${declaredRoutes.followLink.path.replace(':link_id', link_id)}?${new URLSearchParams(query)}`
      const answer = await send(path, { headers: { 'user-agent': agents[platform], 'x-forwarded-for': ip } })
      await answer.arrayBuffer()
      const target = answer.headers.get('location')
      return target === null || !URL.canParse(target) ? null : new URL(target).searchParams.get('referrer')
    },
    async costs(server_key: string, costs: readonly object[]): Promise<void> {
      const init = { method: 'PUT', headers: bearer(server_key), body: JSON.stringify({ costs, as_of_ms: now() }) }
      await (await send(declaredRoutes.putCosts.path, init)).arrayBuffer()
    },
    /** A postback of AdAttributionKit. */
    async postback(token: string, unsigned: object): Promise<void> {
      const body = JSON.stringify({ 'jws-string': token, ...unsigned })
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
      await (await send(declaredRoutes.sendAakPostback.path, init)).arrayBuffer()
    },
  }
}
export type Doors = ReturnType<typeof openDoors>
