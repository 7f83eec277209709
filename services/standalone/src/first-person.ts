import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { listCompanies } from '@tributary/tenancy/companies/tenants'
import { makeFirstLink } from '@tributary/tenancy/people/one-time-links'
import type { Pool } from 'pg'
import { writePrivateFile } from './local-secrets.ts'

export interface FirstPersonDeps {
  pool: Pool
  data_dir: string
  /** Where browsers reach the panel. */
  admin_url: string
  now: () => number
  /** Whether a person sees what is printed: a log keeps it. */
  onTerminal: boolean
}

/**
 * Makes a one-time link for the first person while no operator exists, in place of the one before, and returns the lines to
 * show. A link is printed on a terminal alone; elsewhere it is in `first-sign-in` (mode 0600) of the data folder.
 */
export async function offerFirstLink(deps: FirstPersonDeps): Promise<string[]> {
  const { pool, data_dir, admin_url, now, onTerminal } = deps
  const file = join(data_dir, 'first-sign-in')
  rmSync(file, { force: true })
  const link = await makeFirstLink(pool, await findDemoCompany(pool), now())
  if (link === null) return []
  const address = `${admin_url.replace(/\/+$/, '')}/admin/invitation#${link.token}`
  if (onTerminal)
    return ['The first person makes an account with this link, once, within 24 hours:', '', `  ${address}`, '']
  writePrivateFile(file, `${address}\n`)
  return [`The link for the first sign-in is in ${file}`]
}

/** The company of the first start, which the first person owns. */
async function findDemoCompany(pool: Pool): Promise<string | null> {
  const [oldest] = await listCompanies(pool)
  return oldest?.name === 'Demo' ? oldest.company_id : null
}
