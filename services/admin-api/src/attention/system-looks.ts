import type { SystemStatus } from '@tributary/contracts/admin/system'
import { limits } from '@tributary/contracts/limits'
import type { Trouble } from '@tributary/service-kit/service/health'
import type { AdminApiDeps } from '../deps.ts'
import { listDead } from '../routes/dead-letter-routes.ts'
import { item, type Look } from './looked.ts'

type SystemDeps = Pick<AdminApiDeps, 'status' | 'broker' | 'troubles' | 'now' | 'pool'>

/** The facts of the installation: those of `/status`, `/dead-letters`, `/health` and the reconciler. */
export const systemLooks = ({ status, broker, troubles = [], now, pool }: SystemDeps): Look[] => [
  {
    codes: ['binding_down', 'consumer_lags'],
    async find() {
      const found = await status()
      return [...downOf(found), ...lagsOf(found, now())]
    },
  },
  {
    codes: ['dead_letters'],
    find: async () =>
      (await listDead(broker)).map(({ topic, reason, count, first_ms: since_ms }) =>
        item('dead_letters', {
          ...{ since_ms, message: `${count} dead letters wait in ${topic} (${reason}).` },
          fix: `Fix the reason, then: npx tributary dead retry --topic ${topic} --reason ${wordOf(reason)}`,
        }),
      ),
  },
  { codes: ['stores_differ'], find: () => differencesIn(pool) },
  { codes: ['process_trouble'], find: async () => troubles.flatMap((look) => look()).map(ofTrouble) },
]

/** A reason is a header of a record: whoever writes to the topic chooses it, and an operator pastes the command. */
const wordOf = (reason: string): string => (/^\w+$/.test(reason) ? reason : 'REASON')

/** What the reconciler has found, by store. Examples stay where they are: notices leave the house. */
async function differencesIn(pool: SystemDeps['pool']) {
  const { rows } = await pool.query<{ store: string; hours: number; found_ms: number; first: string; day: string }>(
    `SELECT store, count(*)::float8 AS hours, min(found_at_ms)::float8 AS found_ms,
       (array_agg(concat_ws(', ', to_char(to_timestamp(hour_ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'), nullif(app_id, ''))
         ORDER BY hour_ms, app_id))[1] AS first,
       to_char(to_timestamp(min(hour_ms) / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day
     FROM reconcile_differences GROUP BY store ORDER BY store`,
  )
  return rows.map(({ store, hours, found_ms: since_ms, first, day }) =>
    item('stores_differ', {
      ...{ since_ms, message: `${hours} hours differ in ${store}. The first: ${first}.` },
      fix: `See which and where: npx tributary reconcile --since ${day}. It says what --repair brings back.`,
    }),
  )
}

const downOf = ({ bindings }: SystemStatus) =>
  Object.entries(bindings)
    .filter(([, { status }]) => status === 'down')
    .map(([name]) =>
      item('binding_down', {
        message: `${name} does not answer.`,
        fix: 'Start it, or look at its log: npx tributary doctor',
      }),
    )

const lagsOf = ({ consumers }: SystemStatus, now_ms: number) =>
  consumers
    .filter(({ oldest_unwritten_ms: age_ms }) => age_ms !== null && age_ms > limits.attention_lag_ms)
    .map(({ name, topic, lag, oldest_unwritten_ms: age_ms }) =>
      item('consumer_lags', {
        since_ms: now_ms - (age_ms ?? 0),
        message: `${name} has ${lag} records of ${topic} to write.`,
        fix: `Does ${name} run? Its log names what it waits for.`,
      }),
    )

/** Disks, erasures that wait, keys that do not fit: what this process says of itself. */
const ofTrouble = ({ code, message, fix }: Trouble) =>
  item('process_trouble', { message: `${code}: ${message}`, fix: fix ?? 'npx tributary doctor' })
