import { setTimeout as pause } from 'node:timers/promises'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { consumers } from '@tributary/contracts/consumers'
import { findCertificate } from '@tributary/erasure/find-certificate'
import { findRun, requestRun } from '@tributary/erasure/runs'
import { openPostgres } from '@tributary/postgres/postgres'
import { openMasterKeys, readMasterKey } from '@tributary/tenancy/secrets/master-keys'
import { installOf, type SentEvents } from '@tributary/testing/verify-events'
import type { Fleet } from '../fleet.ts'
import { type FleetRequest, post, privacyRequest } from '../requests.ts'

export interface Erasures {
  /** Asks for the erasure of some installs of a request that was answered 200; keeps the request. */
  offer(request: FleetRequest): void
  /** Waits until all that was asked for is erased, and sends once more what the erased installs had sent. */
  end(ms_max: number): Promise<Erased>
}

export interface Erased {
  /** Installs with a completed erasure. */
  installs: number
  /** The mark of an erased install, Unix epoch ms. */
  markOf(app_id: string, install_uuid: string): number | null
}

const ask_every_ms_min = 250
/** Each costs as much however long the load is, and erasers halt with each kill. */
const asks_max = 100
const run_every_ms = 4000
const again_ms = 200

/** A few of the devices, and as many of the installs of backends. */
const may_be_erased = /^[01]/
export const mayBeErased = (install_uuid: string): boolean => may_be_erased.test(install_uuid)

/** The events that remain of those that were sent: dated after the mark, they were received after it as well. */
export function remaining(sent: SentEvents, { markOf }: Erased): SentEvents {
  const mark_ms = markOf(sent.app_id, sent.install_uuid)
  if (mark_ms === null) return sent
  return { ...sent, event_ids: sent.event_ids.filter((_, n) => sent.dated_ms![n]! > mark_ms) }
}

/** How many erased events are in the table. */
export async function countReturned(
  clickhouse: Pick<Clickhouse, 'query'>,
  sent: readonly SentEvents[],
  erased: Erased,
): Promise<number> {
  const stored = await clickhouse.query<{ app_id: string; install_uuid: string; event_id: string }>(
    `SELECT app_id, install_uuid, event_id FROM events_raw_v1 WHERE match(install_uuid, '${may_be_erased.source}')`,
  )
  const there = new Set(stored.map((one) => `${installOf(one)}/${one.event_id}`))
  const gone = sent.flatMap((one) => {
    const kept = new Set(remaining(one, erased).event_ids)
    return one.event_ids.filter((event_id) => !kept.has(event_id)).map((event_id) => `${installOf(one)}/${event_id}`)
  })
  return gone.filter((event) => there.has(event)).length
}

/** Starts apps that ask for the erasure of their installs while these go on, and an operator who runs the eraser. */
export function startErasures(fleet: Fleet, load_ms: number): Erasures {
  const ask_every_ms = Math.max(ask_every_ms_min, load_ms / asks_max)
  const { tenants, gateways, broker } = fleet
  const pool = openPostgres({
    ...{ url: fleet.engine('postgres').url, pool_max: 2, statement_timeout_ms: 60_000, connect_timeout_ms: 60_000 },
  })
  const masterKeys = openMasterKeys([readMasterKey(fleet.master_key)])
  const asked = new Map<string, { app_id: string; install_uuid: string }>()
  const requests = new Set<FleetRequest>()
  const under_way = new Set<Promise<void>>()
  let asked_ms = Number.NEGATIVE_INFINITY
  let ending = false

  const untilAnswered = async (request: FleetRequest, status: number) => {
    for (let n = 0; ; n += 1, await pause(again_ms)) {
      const answer = await post(gateways[n % gateways.length]!.url, request)
      if (answer?.status === status) return
    }
  }

  async function ask(sent: SentEvents): Promise<void> {
    const { app_id, install_uuid } = sent
    asked.set(installOf(sent), { app_id, install_uuid })
    await untilAnswered(privacyRequest(tenants.find((one) => one.app_id === app_id)!, install_uuid), 202)
  }

  const runs = (async () => {
    while (!ending) {
      await requestRun(pool, Date.now()).catch(() => {}) // the next one asks for all
      await pause(run_every_ms)
    }
  })()

  async function untilQueued(deadline_ms: number): Promise<void> {
    const { name, topic } = consumers.eraser
    for (; ; await pause(again_ms)) {
      const offsets = await broker.groupOffsets(name, topic.name)
      if (offsets.every(({ committed, earliest, end }) => (committed ?? earliest) === end)) return
      if (Date.now() > deadline_ms) throw new Error('requests for erasure were not queued in time')
    }
  }

  async function runAll(deadline_ms: number): Promise<void> {
    const run = await requestRun(pool, Date.now())
    while (!(await findRun(pool, run))?.done) {
      if (Date.now() > deadline_ms)
        throw new Error(`erased in time was only ${JSON.stringify(await findRun(pool, run))}`)
      await pause(again_ms)
    }
  }

  async function findMarks(): Promise<Erased> {
    const marks = new Map<string, number>()
    for (const [install, { app_id, install_uuid }] of asked) {
      const found = await findCertificate({ pool, masterKeys }, app_id, install_uuid)
      if (found?.state !== 'completed') throw new Error(`the erasure of ${install} is ${found?.state ?? 'unknown'}`)
      marks.set(install, found.marks.at(-1)!.erased_up_to_ms)
    }
    return {
      installs: marks.size,
      markOf: (app_id, install_uuid) => marks.get(installOf({ app_id, install_uuid })) ?? null,
    }
  }

  return {
    offer(request) {
      const chosen = request.sent.filter(({ install_uuid }) => mayBeErased(install_uuid))
      if (chosen.length === 0) return
      requests.add(request)
      if (ending || performance.now() - asked_ms < ask_every_ms) return
      asked_ms = performance.now()
      const asking = Promise.all(chosen.map(ask)).then(() => {})
      under_way.add(asking)
      asking.then(
        () => under_way.delete(asking),
        () => {}, // `end` throws it
      )
    },
    async end(ms_max) {
      const deadline_ms = Date.now() + ms_max
      ending = true
      try {
        await Promise.all([...under_way, runs])
        await untilQueued(deadline_ms)
        await runAll(deadline_ms)
        const erased = await findMarks()
        for (const request of requests) await untilAnswered(request, 200)
        return erased
      } finally {
        await pool.end()
      }
    },
  }
}
