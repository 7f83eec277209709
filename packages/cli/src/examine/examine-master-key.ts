import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type CliConfig, readEngineSettings } from '../config.ts'
import { CliError } from '../errors.ts'
import { readSecretFile } from '../secrets/secret-file.ts'
import { type Check, check_ms_max, failed, passed } from './check.ts'

const name = 'master key'
const copy = 'Put your copy of it there (chmod 600), or set TRIBUTARY_MASTER_KEY.'
/** A rotation that has begun looks like this too, so that the words never lead to `master-key forget`. */
const wrong = (needed: string) =>
  `If a rotation is under way, set TRIBUTARY_MASTER_KEY_OLD to the key with id ${needed}. Else put your copy of that key there. If it is lost for good, see "Secrets" in docs/operations.md.`

/** Checks that the master key exists, is private and whole, and decrypts the secrets in PostgreSQL. Changes nothing. */
export async function examineMasterKey(folder: string, { servers }: CliConfig): Promise<Check> {
  try {
    const keys = readEngineSettings(['TRIBUTARY_MASTER_KEY', 'TRIBUTARY_MASTER_KEY_OLD'], [])
    const { TRIBUTARY_MASTER_KEY: setting, TRIBUTARY_MASTER_KEY_OLD: old } = keys
    const where = { folder, on_server: servers.postgres, old }
    if (setting !== undefined) return await compare(setting, 'TRIBUTARY_MASTER_KEY', where)
    const file = join(folder, 'master-key')
    const read = await readSecretFile(name, file)
    if (read === null) return await withoutKey(file, folder, servers.postgres)
    return 'check' in read ? read.check : await compare(read.text, file, where)
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

interface Where {
  folder: string
  on_server: boolean
  /** TRIBUTARY_MASTER_KEY_OLD. */
  old: string | undefined
}

async function compare(text: string, source: string, { folder, on_server, old }: Where): Promise<Check> {
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
  if (old !== undefined && readMasterKey(old).id === needed) {
    return passed(name, `${found}; TRIBUTARY_MASTER_KEY_OLD is needed until npx tributary key rotate-master has run`)
  }
  return failed(name, `${found}; the secrets need the key with id ${needed}`, wrong(needed))
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
