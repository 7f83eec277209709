import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { idShape } from '@tributary/contracts/envelope'
import { CodedError } from '@tributary/contracts/errors'
import { exampleInstall, InstallRecord } from '@tributary/contracts/install-record'
import { limits } from '@tributary/contracts/limits'
import { eventDay } from '@tributary/contracts/report-tables'
import type { Routes } from '@tributary/contracts/route'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { z } from 'zod'
import type { Authorize } from './authorize.ts'
import { findDecisions } from './find-decisions.ts'
import { findReceipts } from './find-receipts.ts'
import type { Owner } from './turns/fair-pool.ts'
import type { RunInTurn } from './turns/run-in-turn.ts'

export const installRoutes = {
  getInstall: {
    method: 'GET',
    path: '/api/v1/installs/:install_uuid',
    auth: 'reports',
    tag: 'Reports',
    summary: 'Where an install came from, and why',
    description:
      'When it was installed, which click it is attributed to, why each other click lost, how that changed, which users it was, and what the stores say of its receipts. The app is that of the key.',
    params: z.object({
      install_uuid: z.string().meta({ description: 'The id in its events.', example: exampleInstall.install_uuid }),
    }),
    answers: { 200: { schema: { InstallRecord }, description: 'The install.', example: exampleInstall } },
    errors: ['unknown_install'],
  },
} satisfies Routes

/** GET /api/v1/installs/:install_uuid: what is known of an install (docs/rules.md#install-record). */
export function installRoute(
  app: FastifyInstance,
  { authorize, runInTurn }: { authorize: Authorize; runInTurn: RunInTurn },
): void {
  app.get<{ Params: { install_uuid: string } }>(installRoutes.getInstall.path, async (request, reply) =>
    getInstall(runInTurn, await authorize(request, reply), reply, request.params.install_uuid),
  )
}

/** The record of an install of an app. Throws `unknown_install`. */
export async function getInstall(
  runInTurn: RunInTurn,
  owner: Owner & { app_id: string },
  reply: FastifyReply,
  install_uuid: string,
): Promise<InstallRecord> {
  const named = { app_id: owner.app_id, install_uuid }
  // A text of another shape is no id of an install, and is not looked up.
  const install = idShape.test(install_uuid)
    ? await runInTurn(owner, reply, (clickhouse) => findInstall(clickhouse, named))
    : null
  if (install === null) throw new CodedError('unknown_install')
  return install
}

async function findInstall(
  clickhouse: Pick<Clickhouse, 'query'>,
  install: Pick<InstallRecord, 'app_id' | 'install_uuid'>,
): Promise<InstallRecord | null> {
  const decided = await findDecisions(clickhouse, install)
  const [known] = decided === null ? await clickhouse.query(knownSql, install) : [decided]
  if (known === undefined) return null
  const users = await clickhouse.query<InstallRecord['identities'][number]>(identitiesSql, install)
  const identities = users.slice(0, limits.install_identities_max)
  const named = {
    ...{ identities, ...(users.length > identities.length && { identities_cut: true as const }) },
    ...(await findReceipts(clickhouse, install, daysSql)),
  }
  if (decided !== null) return { ...install, ...decided, ...named }
  const [first] = await clickhouse.query<Pick<InstallRecord, 'installed_at_ms'>>(firstInstallSql, install)
  return { ...install, installed_at_ms: first?.installed_at_ms ?? null, ...undecided, ...named }
}

/** What an install has before it is decided. */
const undecided = { verdict: null, rule_version: null, windows: null, candidates: [], pending: false, history: [] }

const ofInstall = 'app_id = {app_id:String} AND install_uuid = {install_uuid:String}'

/** Days with events of the install. */
const daysSql = `
  SELECT ${eventDay} AS date FROM activity_by_day_v1 WHERE app_id = {app_id:String} AND install_key = sipHash64({install_uuid:String})`

const knownSql = `SELECT date FROM (${daysSql}) LIMIT 1`

// docs/rules.md#what-is-an-install: the first app_install to arrive, otherwise the first app_first_open. The position on the
// log tells which came first; clocks of gateways differ. The table events_raw_v1 is ordered by day, so the condition on the days of the install keeps the number of read rows small.
const firstInstallSql = `
SELECT least(received_at_ms, ts_ms + correction_ms) AS installed_at_ms
FROM events_raw_v1
WHERE ${ofInstall} AND day IN (${daysSql})
  AND event_name IN ('app_install', 'app_first_open') AND JSONExtractRaw(props, 'identity_migration') != 'true'
ORDER BY event_name = 'app_install' DESC, topic, partition, offset, ts_ms
LIMIT 1`

const identitiesSql = `
SELECT user_id, min(i.since_ms) AS since_ms
FROM identities_v1 AS i
WHERE ${ofInstall}
GROUP BY user_id
ORDER BY since_ms, user_id
LIMIT ${limits.install_identities_max + 1}`
