import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { type AttackTenant, makeTenant } from '../../attack/tenants.ts'
import { describeWithFleet } from '../../fleet/describe-with-fleet.ts'
import { type FleetProcess, thisCheckout } from '../../fleet/fleet-process.ts'
import { type Load, startLoad } from '../../fleet/load.ts'
import { type FleetRequest, post } from '../../fleet/requests.ts'
import { waitUntilNoLag } from '../../standalone/standalone-process.ts'
import { errorsOf, get, type MadeApp, makeAppsOnEach, reportRows, untilAllTake } from '../../upgrade/both-versions.ts'
import { type Phones, startPhones } from '../../upgrade/phones.ts'
import { unpackVersion, versionBefore } from '../../upgrade/version-before.ts'
import { type SentEvents, verifyEvents } from '../../verify-events.ts'

const patience = { timeout: 180_000, interval: 100 }
const admin_token = randomUUID()
const env = {
  TRIBUTARY_ADMIN_TOKEN: admin_token,
  TRIBUTARY_TRUSTED_PROXIES: '127.0.0.1',
  TRIBUTARY_LINK_URL: 'https://go.example.com',
  TRIBUTARY_KAFKA_REPLICATION_FACTOR: '1',
  TRIBUTARY_KAFKA_MIN_INSYNC_REPLICAS: '1',
}
/** Requests that the version before takes, and clients send once more after the upgrade. */
const first_requests_max = 10
/** Reports that both versions answer from rows of events, installs, clicks and money. */
const reports = ['events', 'attribution', 'revenue', 'cohorts', 'ltv', 'performance']

const before = versionBefore()
const checkout = mkdtempSync(join(tmpdir(), 'tributary-before-'))
// Outside of the tests: without the version before the file fails, engines or not.
await unpackVersion(before.commit, checkout)

/*
 * One story: each test goes on where the one before ended. Faults that were put into this version, and how it failed:
 * - a migration that drops a column which the writers of before insert: they write nothing more, the first test waits in vain;
 * - records must have a member that gateways of before do not write: these records become dead letters, thousands are lost;
 * - the key of an event is another: what was sent again after the upgrade is doubled.
 */
await describeWithFleet({ gateways: 1, writers: 1, attribution: 1, env, checkout }, (fleet) => {
  const now = { checkout: thisCheckout }
  const gateways: string[] = []
  const link_gateways: string[] = []
  const old = {} as Record<'link' | 'forwarder' | 'housekeeper' | 'report_api' | 'admin_api', FleetProcess>
  const first_requests: FleetRequest[] = []
  let tenant: AttackTenant
  let load: Load
  let phones: Phones
  let tables_before: ReadonlySet<string>
  let report_apis: FleetProcess[]
  let admin_apis: FleetProcess[]
  let made: MadeApp[]

  beforeAll(async () => {
    const start = async (name: keyof typeof old, service: string) => {
      old[name] = await fleet.startService(service)
    }
    await Promise.all([
      start('link', 'link-gateway'),
      start('forwarder', 'postback-forwarder'),
      start('housekeeper', 'housekeeper'),
      start('report_api', 'report-api'),
      start('admin_api', 'admin-api'),
    ])
    gateways.push(...fleet.gateways.map(({ url }) => url))
    link_gateways.push(old.link.url)
    tenant = await makeTenant(old.admin_api.url, admin_token, 'Acme')
    load = startLoad({
      ...{ tenants: [tenant], gateways, clients: 4, events_per_second: 200 },
      onAcknowledged: (request) => first_requests.length < first_requests_max && first_requests.push(request),
    })
    phones = startPhones({ keys: tenant, link_id: tenant.link_id, gateways, link_gateways })
  })
  afterAll(async () => {
    await Promise.allSettled([load?.stop(), phones?.stop()])
    rmSync(checkout, { recursive: true, force: true })
  })

  it('the version before writes on when this version has migrated', async () => {
    await untilMore()
    tables_before = await tableNames()
    await fleet.tributary(['topics', 'apply'], thisCheckout)
    await fleet.tributary(['migrate'], thisCheckout)
    await untilMore()
  })

  it('consumers of both versions share the partitions of their groups, event-writers first and housekeeper last', async () => {
    const writers = [...fleet.writers]
    const next_writers = await Promise.all(writers.map(() => fleet.startWriter(now)))
    await untilAllTake([...writers, ...next_writers])
    await stopAll(writers)

    const consumers = [fleet.others[0]!, old.forwarder]
    const names = ['attribution', 'postback-forwarder', 'receipt-validator']
    const next_consumers = await Promise.all(names.map((name) => fleet.startService(name, now)))
    await untilAllTake([...consumers, ...next_consumers])
    await stopAll(consumers)
    await fleet.startService('housekeeper', now)
    await stopAll([old.housekeeper])
  })

  it('gateways and admin APIs of both versions take the apps, events, clicks and calls of each other', async () => {
    const before_gateways = [...fleet.gateways]
    const [gateway, link, report_api, admin_api] = await Promise.all([
      fleet.startGateway(now),
      ...['link-gateway', 'report-api', 'admin-api'].map((name) => fleet.startService(name, now)),
    ])
    report_apis = [old.report_api, report_api!]
    admin_apis = [old.admin_api, admin_api!]
    gateways.push(gateway.url)
    link_gateways.push(link!.url)
    await untilMore()
    const doors = { gateways: [...before_gateways, gateway], link_gateways: [old.link, link!] }
    made = await makeAppsOnEach({ admin_token, admin_apis, ...doors })
    // What balances takes a process away when it answers /ready with 503, and it ends the requests that it has.
    gateways.splice(0, before_gateways.length)
    link_gateways.splice(0, 1)
    await stopAll([...before_gateways, old.link])
    for (const request of first_requests) expect(await post(gateway.url, request)).toMatchObject({ status: 200 })
    await untilMore()
  })

  it('the version before starts again on the schemas of this one, unless it is from before that was promised', async () => {
    const returned = await startBefore()
    await untilMore()
    await Promise.all([load.stop(), phones.stop()])
    await Promise.all(admin_apis.map(({ url }) => waitUntilNoLag(url, admin_token)))
    await stopAll(returned)
  })

  it('each acknowledged event and install is there once, both versions report it so, and nothing failed', async () => {
    await expectExact([...load.acknowledged, ...made.map(({ sent }) => sent), ...phones.installs.map(installOf)])
    await expectReports()
    for (const api of admin_apis)
      expect(await get(api, '/admin/api/v1/dead-letters', admin_token), api.name).toEqual({ dead: [] })
    await stopAll([old.report_api, old.admin_api])
    expect([...fleet.gateways, ...fleet.writers, ...fleet.others].flatMap(errorsOf)).toEqual([])
  })

  const installOf = (install_uuid: string): SentEvents => ({
    ...{ app_id: tenant.app_id, install_uuid, event_ids: ['install'] },
  })

  const tableNames = async () => {
    const rows = await fleet.clickhouse.query<{ name: string }>(
      'SELECT name FROM system.tables WHERE database = currentDatabase()',
    )
    return new Set(rows.map(({ name }) => name))
  }

  /** Waits until clients and people were answered more, and the writers have written more. */
  async function untilMore() {
    const look = async () => [load.acknowledged_events(), phones.installs.length, (await fleet.progress()).committed]
    const enough = (await look()).map((count, n) => count + [200, 3, 1][n]!)
    await vi.waitFor(async () => {
      for (const [n, count] of (await look()).entries()) expect(count).toBeGreaterThanOrEqual(enough[n]!)
    }, patience)
  }

  async function stopAll(processes: readonly FleetProcess[]) {
    const codes = await Promise.all(processes.map((one) => one.stop()))
    expect(codes, processes.map(({ name, log }) => `${name}: ${log().slice(-500)}`).join('\n')).toEqual(
      codes.map(() => 0),
    )
  }

  /** Starts processes of the version before once more; gives those that started. */
  async function startBefore(): Promise<FleetProcess[]> {
    if (!before.starts_on_newer_schemas) {
      await expect(fleet.startGateway()).rejects.toThrow('ahead of this code')
      return []
    }
    const [gateway, writer] = await Promise.all([fleet.startGateway(), fleet.startWriter()])
    gateways.push(gateway.url)
    await untilAllTake(fleet.writers.filter((one) => one.lives()))
    gateways.splice(gateways.indexOf(gateway.url), 1)
    return [gateway, writer]
  }

  /** Tables that are new hold rows of after the migration alone. */
  async function expectExact(sent: readonly SentEvents[]) {
    const { differing, rollups: _, ...verdict } = await verifyEvents(fleet.clickhouse, sent, [])
    const wrong = Object.entries(differing).filter(
      ([name, groups]) => groups > 0 && tables_before.has(name.split('.')[0]!),
    )
    expect(wrong).toEqual([])
    const { acknowledged } = verdict
    expect(verdict).toEqual({ acknowledged, in_events_raw: acknowledged, lost: 0, doubled: 0, half: 0 })
    const unbalanced = await fleet.clickhouse.query(
      'SELECT install_uuid FROM installs_v1 FINAL GROUP BY app_id, install_uuid HAVING sum(sign) != 1',
    )
    expect(unbalanced).toEqual([])
  }

  /** Both versions answer the same, which is what was sent. */
  async function expectReports() {
    const until_ms = Date.now()
    const devices = new Set(load.acknowledged.map(({ install_uuid }) => install_uuid)).size
    const events = new Set(load.acknowledged.flatMap((one) => one.event_ids.map((id) => `${one.install_uuid} ${id}`)))
    const sum = (rows: Record<string, unknown>[], field: string) =>
      rows.reduce((all, row) => all + Number(row[field]), 0)
    for (const api of report_apis) {
      const rows = await reportRows(api, 'events', tenant.report_key, until_ms)
      expect(sum(rows, 'events'), api.name).toBe(events.size + phones.installs.length)
      const verdicts = await reportRows(api, 'attribution', tenant.report_key, until_ms)
      const tapped = verdicts.filter(({ partner }) => partner === 'net')
      expect([sum(tapped, 'installs'), sum(verdicts, 'installs')], api.name).toEqual([
        phones.installs.length,
        phones.installs.length + devices,
      ])
      for (const { report_key, sent } of made)
        expect(sum(await reportRows(api, 'events', report_key, until_ms), 'events')).toBe(sent.event_ids.length)
    }
    for (const name of reports) {
      const [one, other] = await Promise.all(
        report_apis.map((api) => reportRows(api, name, tenant.report_key, until_ms)),
      )
      expect(one!.length, name).toBeGreaterThan(0)
      expect(other, name).toMatchObject(one!)
    }
  }
})
