import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { WholeRecord } from '@tributary/broker/broker'
import { consumers } from '@tributary/contracts/consumers'
import { topics } from '@tributary/contracts/topics'
import { writeTable } from '@tributary/geo/table-file'
import { openPostgres } from '@tributary/postgres/postgres'
import { systemStatus } from '@tributary/service-kit/service/system-status'
import { openAppsWithSecrets } from '@tributary/tenancy/attribution/attribution-apps-cache'
import { createApp, createCompany, createServerKey } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys, readMasterKey } from '@tributary/tenancy/secrets/master-keys'
import pino from 'pino'
import { Registry } from 'prom-client'
import { datacenterTable } from '../../attribution/fraud-partners.ts'
import { day_ms, type SimApp, type SimInstall } from '../../attribution/history.ts'
import { recordsOf } from '../../attribution/records.ts'
import { simulate } from '../../attribution/simulate.ts'
import { randomOf } from '../../fuzz/random.ts'
import { type Fleet, openFleet } from '../fleet.ts'
import { type AttributionVerdict, compareOrders, type OrderedApp } from './compare-orders.ts'

export interface AttributionSoakOptions {
  seed: number
  days: number
  acts: number
  /** Time over which the history is published. */
  seconds: number
  /** Number of kill -9, of each consumer in turn. */
  kills: number
  log(line: string): void
}

export interface AttributionSoakResult extends AttributionVerdict {
  clicks: number
  installs: number
  kills: number
}

/** Orders in which the records of one history reach the log. A company has one of them. */
const orders = ['by time', 'backwards', 'at random'] as const
const away_ms_max = 1500
const publish_every_ms = 100
const written_ms_max = 300_000
/** The history ends this long before now, so that nothing waits for a click any more. */
const rest_days = 12

/**
 * Publishes one history three times, in three orders, while each consumer of attribution is killed again and again. Then
 * compares verdicts record by record, signs, and reports.
 */
export async function runAttributionSoak(options: AttributionSoakOptions): Promise<AttributionSoakResult> {
  const { seed, days, acts, kills, log } = options
  const geo_dir = mkdtempSync(join(tmpdir(), 'tributary-soak-geo-'))
  writeTable(geo_dir, 'datacenters', 4, datacenterTable())
  const fleet = await openFleet({ attribution: 1, apart: true, env: { TRIBUTARY_GEO_DIR: geo_dir } })
  try {
    const report_api = await fleet.startService('report-api')
    log('the fleet is ready')
    const start_ms = Math.floor(Date.now() / day_ms) * day_ms - (days + rest_days) * day_ms
    const companies = await makeCompanies(fleet)
    const histories = companies.map(({ android, ios }) =>
      simulate({ android, ios, start_ms, days, acts, flood_clicks: 0, random: randomOf(seed, 0) }),
    )
    const streams = histories.map((history, n) =>
      inOrder(recordsOf(history, topics.eventsAccepted.partitions, randomOf(seed, 1)), orders[n]!, seed),
    )
    const publishing = Promise.all(streams.map((records) => publishPaced(fleet, records, options.seconds)))
    const killed = killInTurn(fleet, options)
    await Promise.all([publishing, killed])
    log(`${streams[0]!.length} records in three orders are published, ${kills} processes were killed`)
    await untilWritten(fleet)
    const apps = companies.flatMap(({ android, ios, keys }, n) =>
      [android, ios].map((app): OrderedApp => {
        const installs = histories[n]!.installs.filter((install: SimInstall) => install.app === app)
        return { order: orders[n]!, app, installs, server_key: keys[app.platform] }
      }),
    )
    const { clicks, installs } = histories[0]!
    const verdict = await compareOrders(fleet.clickhouse, apps, {
      url: report_api.url,
      since_ms: start_ms - 10 * day_ms,
    })
    return { clicks: clicks.length, installs: installs.length, kills, ...verdict }
  } finally {
    await fleet.stop()
    rmSync(geo_dir, { recursive: true, force: true })
  }
}

interface SoakCompany {
  android: SimApp
  ios: SimApp
  keys: Record<'android' | 'ios', string>
}

/** A company for each order, with an Android and an iOS app, and their secrets as the services know them. */
async function makeCompanies(fleet: Fleet): Promise<SoakCompany[]> {
  const masterKeys = openMasterKeys([readMasterKey(fleet.master_key)])
  const engine = { url: fleet.engine('postgres').url, statement_timeout_ms: 10_000, connect_timeout_ms: 10_000 }
  const pool = openPostgres({ ...engine, pool_max: 3 })
  const observed = { now: Date.now, logger: pino({ level: 'silent' }), registry: new Registry() }
  const found = await openAppsWithSecrets({ pool, masterKeys, ...observed })
  const request = { actor: 'soak', request_id: 'soak', now_ms: Date.now() }
  const makeApp = async (company_id: string, platform: 'android' | 'ios') => {
    const { app_id } = await createApp(pool, masterKeys, { company_id, name: platform, platform }, request)
    const { key } = await createServerKey(pool, { app_id, label: 'soak', allowed_events: [] }, request)
    const { link_secret, salt } = (await found.find(app_id))!
    return { app: { app_id, company_id, platform, link_secret, salt }, key }
  }
  try {
    const companies: SoakCompany[] = []
    for (const name of orders) {
      const { company_id } = await createCompany(pool, { name, plan: 'unlimited' }, request)
      const [android, ios] = [await makeApp(company_id, 'android'), await makeApp(company_id, 'ios')]
      companies.push({ android: android.app, ios: ios.app, keys: { android: android.key, ios: ios.key } })
    }
    return companies
  } finally {
    await found.close()
    await pool.end()
  }
}

function inOrder(records: WholeRecord[], order: (typeof orders)[number], seed: number): WholeRecord[] {
  if (order === 'by time') return records
  if (order === 'backwards') return records.toReversed()
  const random = randomOf(seed, 2)
  const drawn = records.map((record) => ({ record, place: random.next() }))
  return drawn.toSorted((a, b) => a.place - b.place).map(({ record }) => record)
}

async function publishPaced({ broker }: Fleet, records: readonly WholeRecord[], seconds: number): Promise<void> {
  const size = Math.ceil((records.length * publish_every_ms) / (seconds * 1000))
  for (let from = 0; from < records.length; from += size) {
    await broker.publish(records.slice(from, from + size))
    await pause(publish_every_ms)
  }
}

/** Kills the consumers one after the other while records come, and restarts each after a moment. */
async function killInTurn({ others }: Fleet, { seed, seconds, kills }: AttributionSoakOptions): Promise<void> {
  const random = randomOf(seed, 3)
  const victims = others.filter(({ name }) => !name.includes('report-api'))
  const revivals: Promise<void>[] = []
  for (let kill = 0; kill < kills; kill += 1) {
    await pause((seconds * 1000 * (0.5 + random.next())) / (kills + 1))
    const victim = victims[kill % victims.length]!
    // One that is still down is killed once it is back.
    await revivals[kill - victims.length]
    await victim.kill()
    revivals.push(pause(random.next() * away_ms_max).then(() => victim.restart()))
  }
  await Promise.all(revivals)
}

const attributionGroups = [
  consumers.installFinder,
  consumers.clickWriter,
  consumers.installAttributor,
  consumers.installWriter,
]

async function untilWritten({ broker }: Fleet): Promise<void> {
  const health = { isReady: async () => true, bindings: async () => ({}) }
  for (const deadline = Date.now() + written_ms_max; ; await pause(250)) {
    const status = await systemStatus({ consumers: attributionGroups, broker, health, now: Date.now })
    if (status.consumers.every(({ lag }) => lag === 0)) return
    if (Date.now() > deadline) throw new Error(`not written in time: ${JSON.stringify(status.consumers)}`)
  }
}
