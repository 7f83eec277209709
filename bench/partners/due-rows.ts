import { setPartner } from '@tributary/tenancy/companies/partner-settings'
import { createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys, readMasterKey } from '@tributary/tenancy/secrets/master-keys'
import type { Pool } from 'pg'

const request = { actor: 'bench', request_id: 'bench', now_ms: 0 }

/** Partners of a bench: their name before `-`, their number, and the port of their addresses. */
export interface Partners {
  name: string
  count: number
  port: number
}

/** The addresses of partners, one each, and where postbacks go: with the time at which they became due. */
export const urlOf = ({ name, port }: Omit<Partners, 'count'>, n: number) =>
  `http://127.${1 + Math.floor(n / 62_500)}.${Math.floor(n / 250) % 250}.${1 + (n % 250)}:${port}/${name}/{install_uuid}?at={event_ts_ms}`

/** Makes companies with an app each, and signed partners in turn: `NAME-0`, `NAME-1`, ... */
export async function makePartners(pool: Pool, master_key: string, all: readonly Partners[], companies: number) {
  const masterKeys = openMasterKeys([readMasterKey(master_key)])
  const app_ids: string[] = []
  for (let n = 0; n < companies; n += 1) {
    const { company_id } = await createCompany(pool, { name: `Company ${n}`, plan: 'unlimited' }, request)
    app_ids.push((await createApp(pool, masterKeys, { company_id, name: 'Game', platform: 'ios' }, request)).app_id)
  }
  const set = async (from: number) => {
    for (const one of all)
      for (let n = from; n < one.count; n += 8) {
        const app_id = app_ids[n % companies]!
        const named = { app_id, partner: `${one.name}-${n}`, postback_url: urlOf(one, n), method: 'GET' as const }
        await setPartner(
          { pool, masterKeys },
          { ...named, events: ['install'], flagged: 'skip', hmac_secret: `secret ${n}` },
          request,
        )
      }
  }
  await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(set))
}

/** Makes `each` postbacks due now to each of the partners with the name, or to those of the given numbers. */
export async function addDue(
  pool: Pool,
  { name, each, numbers = null }: { name: string; each: number; numbers?: readonly number[] | null },
): Promise<void> {
  await pool.query(
    `INSERT INTO due_postbacks (app_id, install_uuid, event_key, partner, settings_id, event_name, content, dated_at_ms,
       owed_at_ms, give_up_ms, next_try_ms)
     SELECT app_id, gen_random_uuid(), 'install', partner, settings_id, 'install',
       json_build_object('install_uuid', g::text, 'event_name', 'install', 'event_ts_ms', clock.ms,
         'click_id', 'c', 'ext_click_id', null, 'sub1', null, 'sub2', null, 'sub3', null, 'sub4', null, 'sub5', null,
         'revenue', null, 'currency', null, 'reject_reason', null)::text,
       0, clock.ms, clock.ms + 86400000, clock.ms
     FROM partner_postbacks p, generate_series(1, $2::int) g,
       (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms) clock
     WHERE partner LIKE $1 || '-%' AND ($3::int[] IS NULL OR split_part(partner, '-', 2)::int = ANY($3))`,
    [name, each, numbers],
  )
}

/** How much is due of the partners with the name. */
export async function countDue(pool: Pool, name: string): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM due_postbacks WHERE state = 'due' AND partner LIKE $1 || '-%'`,
    [name],
  )
  return rows[0]!.count
}
