import { resolve } from 'node:path'
import { SystemStatus, systemRoutes } from '@tributary/contracts/admin/system'
import { readStart } from '@tributary/service-kit/data-dir/start-file'
import { type CliConfig, findAdminToken } from './config.ts'
import { CliError } from './errors.ts'
import { check_ms_max } from './examine/check.ts'
import { request } from './http.ts'

/**
 * How the service at TRIBUTARY_URL relates to TRIBUTARY_DATA_DIR. `same`: it is the last start on that folder. `other`: it
 * is not. `unknown`: it has no id (a fleet). The other values: it refuses the token, hides its admin API, or is unreachable.
 */
export type Instance = 'same' | 'other' | 'unknown' | 'wrong_token' | 'not_found' | 'away'

/** Looks the service up by its admin API. Throws CliError `no_admin_token`. */
export async function findInstance(config: CliConfig): Promise<Instance> {
  const headers = { authorization: `Bearer ${await findAdminToken(config)}` }
  try {
    const address = config.url + systemRoutes.getStatus.path
    const { status, body } = await request(address, { headers, timeout_ms: check_ms_max })
    if (status === 401) return 'wrong_token'
    if (status === 404) return 'not_found'
    const theirs = SystemStatus.safeParse(body).data?.instance
    const start = readStart(config.data_dir)
    const ours = start !== null && resolve(start.data_dir) === resolve(config.data_dir) ? start.instance : undefined
    if (theirs === undefined || ours === undefined) return 'unknown'
    return theirs === ours ? 'same' : 'other'
  } catch (error) {
    if (error instanceof CliError) return 'away'
    throw error
  }
}

/** The finding and its fix when the address and the folder belong to different starts. */
export const otherInstance = ({ url, start_url, data_dir }: CliConfig) => ({
  found: `TRIBUTARY_URL (${url}) is not the service that started last on ${resolve(data_dir)}${start_url === null ? '' : `, which answers at ${start_url}`}`,
  fix: 'Set TRIBUTARY_URL and TRIBUTARY_DATA_DIR for the same start: source the demo.env of its folder, or unset TRIBUTARY_URL.',
})
