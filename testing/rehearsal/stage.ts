import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type ConsumerGroup, consumers } from '@tributary/contracts/consumers'
import { type Fleet, openFleet } from '../fleet/fleet.ts'
import type { FleetProcess } from '../fleet/fleet-process.ts'
import { operatorOf, type Tributary } from '../fleet/operator.ts'

/** A fleet with each service that the rehearsal needs, and an operator at a terminal. */
export interface Stage {
  fleet: Fleet
  gateway: FleetProcess
  links: FleetProcess
  postbacks: FleetProcess
  reports: FleetProcess
  /** The processes that read the log or write tables. */
  writers: readonly FleetProcess[]
  /** All processes, in the order in which they start. */
  processes: readonly FleetProcess[]
  /** A folder of the operator, for backups and files. */
  dir: string
  tributary: Tributary
  /** Resolves when each consumer has read all that the log holds. */
  untilRead(): Promise<void>
  close(): Promise<void>
}

/** The groups whose consumers run here, in the order of the flow. */
export const groups: readonly ConsumerGroup[] = [
  consumers.eventWriter,
  consumers.installFinder,
  consumers.clickWriter,
  consumers.installAttributor,
  consumers.installWriter,
  consumers.postbackWriter,
]
const read_ms_max = 300_000

export async function openStage(): Promise<Stage> {
  const token = randomUUID()
  // Phones and Apple's devices come through a proxy, each from an address of its own.
  const env = {
    ...{ TRIBUTARY_ADMIN_TOKEN: token, TRIBUTARY_TRUSTED_PROXIES: '127.0.0.1' },
    TRIBUTARY_LINK_URL: 'http://127.0.0.1',
  }
  const fleet = await openFleet({ gateways: 1, writers: 1, attribution: 1, apps: 2, env })
  try {
    const attribution = fleet.others[0]!
    const names = ['postback-writer', 'housekeeper', 'link-gateway', 'postback-gateway', 'admin-api', 'report-api']
    const [postbackWriter, housekeeper, links, postbacks, admin, reports] = (await Promise.all(
      names.map((name) => fleet.startService(name)),
    )) as [FleetProcess, FleetProcess, FleetProcess, FleetProcess, FleetProcess, FleetProcess]
    const [gateway] = fleet.gateways as [FleetProcess]
    const writers = [...fleet.writers, attribution, postbackWriter, housekeeper]
    const dir = await mkdtemp(join(tmpdir(), 'tributary-rehearsal-'))
    const tributary = operatorOf(fleet, { admin: admin.url, gateway: gateway.url }, dir)
    return {
      ...{ fleet, gateway, links, postbacks, reports, writers, dir, tributary },
      processes: [...writers, gateway, links, postbacks, admin, reports],
      untilRead: () => untilRead(fleet),
      async close() {
        await fleet.stop()
        await rm(dir, { recursive: true, force: true })
      },
    }
  } catch (error) {
    await fleet.stop()
    throw error
  }
}

/** Looks twice: an earlier consumer publishes to a later one. */
async function untilRead({ broker }: Fleet): Promise<void> {
  for (const deadline = Date.now() + read_ms_max; ; await pause(200)) {
    const unread = await readUnread(broker)
    if (unread === 0 && (await readUnread(broker)) === 0) return
    if (Date.now() > deadline) throw new Error(`the log was not read in ${read_ms_max} ms: ${unread} records are left`)
  }
}

async function readUnread(broker: Fleet['broker']): Promise<number> {
  let unread = 0
  for (const { name, topic } of groups) {
    const offsets = await broker.groupOffsets(name, topic.name, { dated: false })
    for (const { committed, earliest, end } of offsets) unread += end - Math.max(committed ?? 0, earliest)
  }
  return unread
}

export const stopAll = (processes: readonly FleetProcess[]) => Promise.all(processes.map((one) => one.stop()))

/** One after the other, as they share a small machine. */
export async function startAll(processes: readonly FleetProcess[]): Promise<void> {
  await Promise.all(processes.map((one) => one.restart()))
}
