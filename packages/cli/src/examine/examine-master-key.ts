import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type CliConfig, readEngineSettings } from '../config.ts'
import { CliError } from '../errors.ts'
import { readSecretFile } from '../secrets/secret-file.ts'
import { type Check, check_ms_max, failed, passed } from './check.ts'

const name = 'master key'
const copy = 'Put your copy of it there (chmod 600), or set TRIBUTARY_MASTER_KEY.'
const lost = 'Put your copy of the right key there. If it is lost for good: npx tributary master-key forget --yes'

/** Checks that the master key exists, is private and whole, and decrypts the secrets in PostgreSQL. Changes nothing. */
export async function examineMasterKey(folder: string, { servers }: CliConfig): Promise<Check> {
  try {
    const { TRIBUTARY_MASTER_KEY: setting } = readEngineSettings(['TRIBUTARY_MASTER_KEY'], [])
    if (setting !== undefined) return await compare(setting, 'TRIBUTARY_MASTER_KEY', folder, servers.postgres)
    const file = join(folder, 'master-key')
    const read = await readSecretFile(name, file)
    if (read === null) return await withoutKey(file, folder, servers.postgres)
    return 'check' in read ? read.check : await compare(read.text, file, folder, servers.postgres)
  } catch (error) {
    return failed(name, (error as Error).message, 'See "Secrets" in docs/operations.md.')
  }
}

async function withoutKey(file: string, folder: string, on_server: boolean): Promise<Check> {
  if (on_server) return passed(name, 'not set here; each service that needs it checks it at its start')
  if (!(await hasPostgres(folder))) return passed(name, 'made by the first npm start')
  return failed(name, `${file} is missing`, copy)
}

const hasPostgres = async (folder: string): Promise<boolean> =>
  (await stat(join(folder, 'postgres', 'cluster')).catch(() => null)) !== null

async function compare(text: string, source: string, folder: string, on_server: boolean): Promise<Check> {
  const { readMasterKey } = await import('@tributary/tenancy/secrets/master-keys')
  let id: string
  try {
    id = readMasterKey(text).id
  } catch {
    return failed(name, `${source} holds no master key (32 bytes in base64)`, copy)
  }
  const found = `${source}, id ${id}`
  if (!on_server && !(await hasPostgres(folder))) return passed(name, `${found}; no secret needs it yet`)
  const needed = await findNeeded()
  if (needed === 'in_use') return passed(name, `${found}; the running service checks it`)
  if (needed === 'unknown') return passed(name, `${found}; not checked, because PostgreSQL can't be read`)
  if (needed === null || needed === id) return passed(name, found)
  return failed(name, `${found}; the secrets need the key with id ${needed}`, lost)
}

/** The id of the key that the secrets need. Does not touch a data folder in use. */
async function findNeeded(): Promise<string | null> {
  const [{ findNeededMasterKey }, { withPostgres }] = await Promise.all([
    import('@tributary/tenancy/secrets/master-key-check'),
    import('../engines/data-folder.ts'),
  ])
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('PostgreSQL does not answer')), check_ms_max)
  try {
    return await Promise.race([withPostgres(findNeededMasterKey), late])
  } catch (error) {
    // An unreachable or empty PostgreSQL fails its own check.
    return error instanceof CliError && error.code === 'data_folder_in_use' ? 'in_use' : 'unknown'
  } finally {
    clearTimeout(timer)
  }
}
