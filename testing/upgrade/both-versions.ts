import { randomUUID } from 'node:crypto'
import { day_ms } from '@tributary/contracts/limits'
import { expect, vi } from 'vitest'
import { makeTenant } from '../attack/tenants.ts'
import { tapLink } from '../attribution/phone.ts'
import type { FleetProcess } from '../fleet/fleet-process.ts'
import type { SentEvents } from '../verify-events.ts'

const patience = { timeout: 180_000, interval: 100 }

/** Waits until each process, of whatever version, takes records of the log beside the others. */
export async function untilAllTake(processes: readonly FleetProcess[]): Promise<void> {
  const before = await Promise.all(processes.map(takenBy))
  await vi.waitFor(async () => {
    const taken = await Promise.all(processes.map(takenBy))
    for (const [n, records] of taken.entries()) expect(records, processes[n]!.name).toBeGreaterThan(before[n]!)
  }, patience)
}

/** Records that the consumers of the process have taken from the log. */
async function takenBy({ url }: FleetProcess): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const counts = [...text.matchAll(/^tributary_consumer_received_total\{.*\} (\d+)$/gm)]
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}

/** An app that one admin API made, and its events. */
export interface MadeApp {
  report_key: string
  sent: SentEvents
}

export interface SideBySide {
  admin_token: string
  admin_apis: readonly FleetProcess[]
  gateways: readonly FleetProcess[]
  link_gateways: readonly FleetProcess[]
}

/**
 * Each admin API makes a company, an app, keys and a link; the others list the app, and each gateway, of whatever version, takes its
 * events and its clicks.
 */
export async function makeAppsOnEach(running: SideBySide): Promise<MadeApp[]> {
  const { admin_apis, gateways, link_gateways, admin_token } = running
  const made: MadeApp[] = []
  for (const { name, url } of admin_apis) {
    const { app_id, company_id, server_key, report_key, link_id } = await makeTenant(url, admin_token, name)
    for (const other of admin_apis) {
      const found = await get(other, `/admin/api/v1/apps?company_id=${company_id}`, admin_token)
      expect(found.apps, other.name).toContainEqual(expect.objectContaining({ app_id }))
    }
    const install_uuid = randomUUID()
    for (const gateway of gateways) {
      const headers = { authorization: `Bearer ${server_key}` }
      const event = { event_id: gateway.name, event_name: 'level_up', install_uuid, event_ts_ms: Date.now() }
      const body = JSON.stringify(event)
      const { status } = await fetch(`${gateway.url}/s2s/event`, { method: 'POST', headers, body })
      expect(status, gateway.name).toBe(200)
    }
    for (const gateway of link_gateways) {
      const { referrer } = await tapLink(`${gateway.url}/l/${link_id}`, '192.0.2.254')
      expect(referrer, gateway.name).toContain('tb_click=')
    }
    made.push({ report_key, sent: { app_id, install_uuid, event_ids: gateways.map(({ name }) => name) } })
  }
  return made
}

/** GET with a token; the answer, which must be 200. */
export async function get({ name, url }: FleetProcess, path: string, token: string): Promise<Record<string, unknown>> {
  const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })
  const text = await answer.text()
  expect({ name, path, status: answer.status, text }).toMatchObject({ status: 200 })
  return JSON.parse(text)
}

/** Rows of a report of the last days, whose window ends at `until_ms`. */
export async function reportRows(api: FleetProcess, report: string, key: string, until_ms: number) {
  const window = `since_ms=${until_ms - 5 * day_ms}&until_ms=${until_ms}&limit=1000`
  return (await get(api, `/api/v1/reports/${report}?${window}`, key)).rows as Record<string, unknown>[]
}

/** Lines of the log of a process that say that something failed: of the level `error` or `fatal`, or of no logger at all. */
export const errorsOf = ({ name, log }: FleetProcess): string[] =>
  log()
    .split('\n')
    .filter((line) => line !== '' && !/^\{"level":"(?:trace|debug|info|warn)",/.test(line))
    .map((line) => `${name}: ${line}`)
