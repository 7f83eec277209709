import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { SdkClient } from '../src/sdk/sdk-options.ts'
import { createSdkClient } from '../src/sdk-client.ts'
import { type EventStorage, memoryStorage } from '../src/storage.ts'
import { EventShelf, eventsOf, type JsonObject } from './hostile-service.ts'

const kinds = ['ok', 'lost', 'cut', '503', '429', 'html', 'redirect', 'proxy 413', 'half an answer'] as const
type Kind = (typeof kinds)[number]
const steps = fc.oneof(
  fc.record({ do: fc.constant('track' as const), count: fc.integer({ min: 1, max: 15 }) }),
  fc.record({ do: fc.constant('bad' as const) }),
  fc.record({ do: fc.constant('flush' as const) }),
  fc.record({ do: fc.constant('kill' as const), tracking: fc.integer({ min: 0, max: 4 }) }),
)

/** A service in this process. It answers by the plan, then `ok`, and records accepted and answered events. */
function plannedService(plan: readonly Kind[]) {
  const shelf = new EventShelf()
  const answered = new Set<string>()
  const resent: string[] = []
  let n = 0
  const answer = (events: JsonObject[], kind: Kind): Response => {
    if (kind === 'cut') throw new TypeError('fetch failed')
    if (kind === '503') return new Response('{"error":"unavailable"}', { status: 503 })
    if (kind === '429') {
      return new Response('{"error":"rate_limited"}', { status: 429, headers: { 'retry-after': '0' } })
    }
    if (kind === 'html') return new Response('<html>')
    if (kind === 'redirect') return new Response(null, { status: 302, headers: { location: 'http://x/' } })
    if (kind === 'proxy 413' && events.length > 2) return new Response('', { status: 413 })
    const { body } = shelf.take(events)
    if (kind === 'lost') throw new TypeError('fetch failed')
    if (kind === 'half an answer') return new Response(JSON.stringify(body).slice(0, -9))
    for (const { event_id } of events) answered.add(event_id as string)
    return new Response(JSON.stringify(body))
  }
  /** `alive` gives whether the requesting process still lives. */
  const fetchFor = (alive: () => boolean) =>
    (async (_url: string, init: { headers: Record<string, string>; body: Uint8Array | string }) => {
      if (!alive()) return new Promise<Response>(() => {})
      const events = eventsOf({ headers: init.headers, body: Buffer.from(init.body as Uint8Array) })
      resent.push(...events.flatMap(({ event_id }) => (answered.has(event_id as string) ? [String(event_id)] : [])))
      const response = answer(events, plan[n++] ?? 'ok')
      return response
    }) as unknown as typeof fetch
  return { shelf, resent, fetchFor }
}

/** Storage that does nothing more once its process is dead. */
function mortal(storage: EventStorage, alive: () => boolean): EventStorage {
  const whileAlive =
    <A extends unknown[], R>(work: (...args: A) => R | Promise<R>) =>
    (...args: A): R | Promise<R> =>
      alive() ? work(...args) : new Promise<R>(() => {})
  return {
    get: whileAlive(storage.get),
    set: whileAlive(storage.set),
    delete: whileAlive(storage.delete),
    keys: whileAlive(storage.keys),
  }
}

it('takes each tracked event once, reports each rejected one and loses none, whatever fails or is killed', async () => {
  const property = fc.asyncProperty(
    fc.array(fc.constantFrom(...kinds), { maxLength: 25 }),
    fc.array(steps, { minLength: 1, maxLength: 12 }),
    async (plan, script) => {
      const { shelf, resent, fetchFor } = plannedService(plan)
      const storage = memoryStorage()
      const rejected = new Set<string>()
      let died = 0
      const start = (): { client: SdkClient; kill(): void } => {
        let living = true
        const alive = () => living
        const client = createSdkClient({
          url: 'http://service',
          company_key: 'co',
          app_key: 'app',
          signing_secret: 's',
          storage: mortal(storage, alive),
          fetch: fetchFor(alive),
          flush_events: 5,
          flush_interval_ms: 1,
          backoff: { first_pause_ms: 1, pause_ms_max: 2 },
          onRejected: ({ event }) => rejected.add(event.event_id as string),
        })
        const kill = () => {
          living = false
        }
        return { client, kill }
      }
      let process = start()
      const good: string[] = []
      const bad: string[] = []
      for (const step of script) {
        if (step.do === 'flush') await process.client.flush()
        if (step.do === 'bad') bad.push(await process.client.track({ event_name: 'b', bad: true }))
        if (step.do === 'track') {
          const ids = Array.from({ length: step.count }, (_, n) => process.client.track({ event_name: `t${n}` }))
          good.push(...(await Promise.all(ids)))
        }
        if (step.do === 'kill') {
          // These may be lost, because their `track` never resolved. They must not harm the others.
          for (let n = 0; n < step.tracking; n += 1) void process.client.track({ event_name: 'dying' })
          died += 1
          process.kill()
          process = start()
        }
      }
      for (let left = 1, flushes = 0; left > 0; flushes += 1) {
        if (flushes > 1000) throw new Error(`${left} events are never sent`)
        left = (await process.client.flush()).pending
      }
      await process.client.close()
      const taken = shelf.ids()
      expect(taken.filter((id) => good.includes(id)).sort()).toEqual([...good].sort())
      expect(new Set(taken).size).toBe(taken.length)
      expect((await storage.keys()).filter((key) => key.includes('.event.'))).toEqual([])
      // An event is sent again after its answer only when the client was killed before it read the answer.
      if (died === 0) {
        expect([...rejected].sort()).toEqual([...bad].sort())
        expect(resent).toEqual([])
      }
    },
  )
  await fc.assert(property, { numRuns: 150, endOnFailure: true })
})
