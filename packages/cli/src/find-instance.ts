import { resolve } from 'node:path'
import { SystemStatus, systemRoutes } from '@tributary/contracts/admin/system'
import { readStart } from '@tributary/service-kit/service/start-file'
import { type CliConfig, findAdminToken } from './config.ts'
import { CliError } from './errors.ts'
import { check_ms_max } from './examine/check.ts'
import { request } from './http.ts'

/**
 * The admin API at TRIBUTARY_URL, as seen from TRIBUTARY_DATA_DIR: the service that started last on that folder, another one,
 * a service that does not tell (a fleet), or an address that refuses the token, has no admin API for us, or is away.
 */
export type Instance = 'same' | 'other' | 'untold' | 'wrong_token' | 'not_found' | 'away'

/** Asks the admin API. Throws CliError `no_admin_token`. */
export async function findInstance(config: CliConfig): Promise<Instance> {
  const headers = { authorization: `Bearer ${await findAdminToken(config)}` }
  try {
    const signal = AbortSignal.timeout(check_ms_max)
    const { status, body } = await request(config.url + systemRoutes.getStatus.path, { headers, signal })
    if (status === 401) return 'wrong_token'
    if (status === 404) return 'not_found'
    const theirs = SystemStatus.safeParse(body).data?.instance
    const start = readStart(config.data_dir)
    const ours = start !== null && resolve(start.data_dir) === resolve(config.data_dir) ? start.instance : undefined
    if (theirs === undefined || ours === undefined) return 'untold'
    return theirs === ours ? 'same' : 'other'
  } catch (error) {
    if (error instanceof CliError) return 'away'
    throw error
  }
}

/** The finding and its remedy when an address and a folder belong to two starts. */
export const otherInstance = ({ url, data_dir }: CliConfig) => ({
  found: `TRIBUTARY_URL (${url}) is another service than the one that started last on ${resolve(data_dir)}`,
  mend: 'Set TRIBUTARY_URL and TRIBUTARY_DATA_DIR for the same start: source the demo.env of its folder, or unset the first.',
})
