import type { Membership } from '@tributary/contracts/admin/people/roles'
import type { Pool } from 'pg'

/** An app with the keys by which its requests name it. Neither of them is a secret. */
interface AppKeys {
  app_id: string
  name: string
  platform: string
  company_name: string
  app_key: string
  company_key: string
}

/** A page shows no more apps than these. */
const apps_max = 500

/** The apps of companies that are not suspended, the oldest first: those of a person's roles, or all for null. */
export async function listAppKeys(
  pool: Pick<Pool, 'query'>,
  memberships: readonly Membership[] | null,
): Promise<AppKeys[]> {
  const whole = memberships?.flatMap(({ company_id, apps }) =>
    company_id !== null && apps === null ? [company_id] : [],
  )
  const single = memberships?.flatMap(({ apps }) => apps ?? [])
  const { rows } = await pool.query<AppKeys>(
    `SELECT a.app_id, a.name, a.platform, a.app_key, c.company_key, c.name AS company_name
     FROM apps a JOIN companies c USING (company_id)
     WHERE c.status = 'active' AND ($2::text[] IS NULL OR c.company_id = ANY($2) OR a.app_id = ANY($3))
     ORDER BY a.created_at, a.app_id LIMIT $1`,
    [apps_max, whole ?? null, single ?? null],
  )
  return rows
}
