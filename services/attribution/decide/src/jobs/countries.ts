import { randomUUID } from 'node:crypto'
import type { Broker } from '@tributary/broker/broker'
import { lagOf } from '@tributary/broker/unread'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import type { Decision } from '@tributary/contracts/attribution/decision'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import { consumers } from '@tributary/contracts/consumers'
import { day_ms, hour_ms } from '@tributary/contracts/limits'
import { byPlace } from '@tributary/domain/attribute/verdict'
import { raw_events_lock, retention_lock } from '@tributary/erasure/raw-events-lock'
import type { Geo } from '@tributary/geo/geo'
import { unlessRunning } from '@tributary/postgres/one-at-a-time'
import { factColumns, factLine } from '@tributary/tables/attribution/facts'
import type { InstallOfApp } from '@tributary/tables/attribution/redecisions'
import { findNewestOf, installName } from '@tributary/tables/attribution/verdicts'
import type { Pool } from 'pg'
import { publishDecisions } from '../steps/publish.ts'

interface CountriesDeps {
  clickhouse: Clickhouse
  broker: Broker
  postgres: Pool
  geo: Geo
  now: () => number
}

const name = 'countries_of_installs'
/** Installs of one run. */
const page_max = 500
/** A run leaves install-writer to others while it has more records to read. */
const writer_lag_max = 1000
/** Pause between two passes: the first leaves out installs that have no decision yet. */
const between_ms = hour_ms
/** Time after an upgrade in which facts of gateways of the version before may still come. */
const late_ms = day_ms

const nobody: InstallOfApp = { app_id: '', install_uuid: '' }

/**
 * Fills the country of installs that gateways looked up none for, while their address is there: once after an upgrade, some installs a run
 * (docs/attribution.md#countries). Any number of processes may run it, and a crash leaves less to do: a country is filled once.
 */
export function countriesJob(deps: CountriesDeps): () => Promise<void> {
  const { broker, postgres: pool, now } = deps
  let over = false
  let rest_until_ms = 0
  let pass = { after: nobody, filled: 0 }

  return async () => {
    if (over || now() < rest_until_ms) return
    const begun_at_ms = await begin(pool, now())
    over = begun_at_ms === null
    if (begun_at_ms === null || (await lagOfWriter(broker)) > writer_lag_max) return
    // An erasure or the end of an address in between would be undone by the rows that are written anew.
    const locked = await unlessRunning(pool, retention_lock, (_lost, held) =>
      unlessRunning(pool, raw_events_lock, (_also, alsoHeld) =>
        fillPage(deps, pass.after, async () => {
          await held()
          await alsoHeld()
        }),
      ),
    )
    const page = locked?.result?.result
    if (page === undefined) return
    pass = { after: page.last, filled: pass.filled + page.filled }
    if (page.last !== nobody) return
    if (pass.filled === 0 && now() - begun_at_ms >= late_ms) await end(pool, now())
    else rest_until_ms = now() + between_ms
    pass = { after: nobody, filled: 0 }
  }
}

/** When the job began, Unix epoch ms; null once it has ended. */
async function begin(pool: Pool, now_ms: number): Promise<number | null> {
  await pool.query('INSERT INTO upgrade_jobs (name, begun_at_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
    name,
    now_ms,
  ])
  const { rows } = await pool.query<{ begun_at_ms: string }>(
    'SELECT begun_at_ms FROM upgrade_jobs WHERE name = $1 AND ended_at_ms IS NULL',
    [name],
  )
  return rows[0] === undefined ? null : Number(rows[0].begun_at_ms)
}

const end = (pool: Pool, now_ms: number) =>
  pool.query('UPDATE upgrade_jobs SET ended_at_ms = $2 WHERE name = $1', [name, now_ms])

async function lagOfWriter(broker: Pick<Broker, 'groupOffsets'>): Promise<number> {
  const { name: group, topic } = consumers.installWriter
  const offsets = await broker.groupOffsets(group, topic.name, { dated: false })
  return offsets.reduce((sum, of) => sum + lagOf(of), 0)
}

/** Fills the facts of some installs behind one; `last` is the last of them, `nobody` at the end of all. */
async function fillPage(
  { clickhouse, broker, geo }: CountriesDeps,
  after: InstallOfApp,
  held: () => Promise<void>,
): Promise<{ last: InstallOfApp; filled: number }> {
  const page = await findPage(clickhouse, after)
  const last = page.length < page_max ? nobody : page.at(-1)!
  if (page.length === 0) return { last, filled: 0 }
  const newest = await findNewestOf(clickhouse, page)
  // What is not decided yet may be decided with the fact as it is now: a later pass fills it.
  const facts = (await findFacts(clickhouse, page)).filter((fact) => newest.has(installName(fact)))
  const filled = facts.map((fact) => ({ ...fact, country: geo.lookUp(fact.ip!).country ?? '' }))
  const byInstall = Map.groupBy(filled, installName)
  const fills = [...newest].flatMap(([install, { decision }]) => fillOf(decision, byInstall.get(install) ?? []))
  await held()
  // 1. The countries of verdicts are on the log. A crash now: they come again, and install-writer has them already.
  await publishDecisions(broker, fills)
  await held()
  // 2. The facts have them, so no later run finds these.
  await insertFacts(clickhouse, filled)
  return { last, filled: filled.length }
}

/** The country of the install event of a decision, else of another one; none where nothing is known. */
function fillOf(decision: Decision, facts: readonly InstallFact[]): Decision[] {
  if (decision.country !== undefined) return []
  const own = facts.find(({ place }) => byPlace(place, decision.place) === 0)
  const country = own?.country || facts.find((fact) => fact.country !== '')?.country
  return country === undefined ? [] : [{ ...decision, country, fills: 'country' }]
}

/** A fact with an address and without a country. An address has no quote, and texts of strangers have theirs escaped. */
const lacks = `kind = 'install' AND position(fact, '"ip":"') > 0 AND position(fact, '"country":') = 0`

/** Installs that may lack a country, in the order of the key. Without FINAL it reads no more than it gives, and gives filled ones too. */
const findPage = (clickhouse: Clickhouse, { app_id, install_uuid }: InstallOfApp): Promise<InstallOfApp[]> =>
  clickhouse.query<InstallOfApp>(
    `SELECT DISTINCT app_id, install_uuid FROM install_facts_v1
     WHERE app_id >= ${textLiteral(app_id)} AND (app_id > ${textLiteral(app_id)} OR install_uuid > ${textLiteral(install_uuid)})
       AND ${lacks}
     ORDER BY app_id, install_uuid LIMIT ${page_max}`,
  )

async function findFacts(clickhouse: Clickhouse, page: readonly InstallOfApp[]): Promise<InstallFact[]> {
  const rows = await clickhouse.query<{ fact: string }>(
    `SELECT fact FROM install_facts_v1 FINAL
     PREWHERE app_id IN (${textLiterals(page.map(({ app_id }) => app_id))})
       AND install_uuid IN (${textLiterals(page.map(({ install_uuid }) => install_uuid))})
     WHERE ${lacks}`,
  )
  return rows.map(({ fact }) => JSON.parse(fact) as InstallFact)
}

async function insertFacts(clickhouse: Clickhouse, facts: readonly InstallFact[]): Promise<void> {
  if (facts.length === 0) return
  const into = { table: 'install_facts_v1', columns: factColumns }
  await clickhouse.insert({ ...into, lines: facts.map(factLine).join('\n'), token: `countries/${randomUUID()}` })
}
