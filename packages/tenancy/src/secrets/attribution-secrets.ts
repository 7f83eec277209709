import { randomBytes } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import { type EncryptedJson, encryptedJson, readEncryptedJson } from './encrypted-json.ts'
import type { MasterKeys, SecretBinding } from './master-keys.ts'

const secret_bytes = 32

/** An app with the secrets of its attribution; null where nobody has made them yet. */
export interface SecretsRow {
  app_id: string
  company_id: string
  link_secret: EncryptedJson | null
  salt: EncryptedJson | null
}

export interface AttributionSecrets {
  /** Signs the click ids of the app. */
  link_secret: Buffer
  /** Keys the hashes of device ids of the company. */
  salt: Buffer
}

/** Columns of `SecretsRow` for a query that reads apps as `a`, and the joins that they need. */
export const secretsSql = {
  columns: `a.app_id, a.company_id, ${encryptedJson('ls')} AS link_secret, ${encryptedJson('cs')} AS salt`,
  joins: `LEFT JOIN link_secrets ls ON ls.app_id = a.app_id LEFT JOIN company_salts cs ON cs.company_id = a.company_id`,
}

/**
 * Rows of `query`, each with its secrets. Missing ones are made, and then all are read again: of two processes that make
 * one at the same time the first one counts for both.
 */
export async function readWithSecrets<Row extends SecretsRow>(
  pool: Pool,
  masterKeys: MasterKeys,
  query: () => Promise<Row[]>,
): Promise<Row[]> {
  const rows = await query()
  const unsigned = rows.filter(({ link_secret }) => link_secret === null)
  const unsalted = rows.filter(({ salt }) => salt === null)
  if (unsigned.length === 0 && unsalted.length === 0) return rows
  await insertSecrets(pool, masterKeys, 'link_secrets', unsigned)
  await insertSecrets(pool, masterKeys, 'company_salts', unsalted)
  return query()
}

/** Decrypts the secrets of a row of `readWithSecrets`. Throws when their master key is not given. */
export function openSecrets(masterKeys: MasterKeys, { link_secret, salt, ...app }: SecretsRow): AttributionSecrets {
  if (link_secret === null || salt === null)
    throw new Error(`The secrets of ${app.app_id} were removed while they were read.`)
  const open = (secret: EncryptedJson, binding: SecretBinding) =>
    Buffer.from(masterKeys.decrypt(readEncryptedJson(secret), binding), 'hex')
  return { link_secret: open(link_secret, linkSecretBinding(app)), salt: open(salt, saltBinding(app)) }
}

/**
 * The salts of apps by `app_id`: null where none was made, an error where it can't be decrypted. An app that is not there
 * is left out.
 */
export async function findSalts(
  pool: Pick<Pool, 'query'>,
  masterKeys: MasterKeys,
  app_ids: readonly string[],
): Promise<Map<string, Buffer | Error | null>> {
  const rows = await readSalts(pool, app_ids)
  return new Map(rows.map((row) => [row.app_id, openSalt(masterKeys, row)]))
}

/** The same, and missing ones are made. Throws for an app that is not there, or whose salt can't be decrypted. */
export async function getSalts(
  pool: Pool,
  masterKeys: MasterKeys,
  app_ids: readonly string[],
): Promise<Map<string, Buffer>> {
  const unsalted = (await readSalts(pool, app_ids)).filter(({ salt }) => salt === null)
  if (unsalted.length > 0) await insertSecrets(pool, masterKeys, 'company_salts', unsalted)
  const found = await findSalts(pool, masterKeys, app_ids)
  return new Map(
    app_ids.map((app_id) => {
      const salt = found.get(app_id) ?? new Error(`There is no app ${app_id}.`)
      if (salt instanceof Error) throw salt
      return [app_id, salt]
    }),
  )
}

type SaltRow = Omit<SecretsRow, 'link_secret'>

async function readSalts(pool: Pick<Pool, 'query'>, app_ids: readonly string[]): Promise<SaltRow[]> {
  const { rows } = await pool.query<SaltRow>(
    `SELECT a.app_id, a.company_id, ${encryptedJson('cs')} AS salt
     FROM apps a LEFT JOIN company_salts cs ON cs.company_id = a.company_id WHERE a.app_id = ANY($1::text[])`,
    [app_ids],
  )
  return rows
}

function openSalt(masterKeys: MasterKeys, { salt, ...app }: SaltRow): Buffer | Error | null {
  if (salt === null) return null
  try {
    return Buffer.from(masterKeys.decrypt(readEncryptedJson(salt), saltBinding(app)), 'hex')
  } catch (err) {
    return err as Error
  }
}

type Client = Pick<PoolClient, 'query'>
type App = Pick<SecretsRow, 'app_id' | 'company_id'>

const linkSecretBinding = ({ company_id, app_id }: App): SecretBinding => ({
  purpose: 'link_secret',
  company_id,
  app_id,
})
const saltBinding = ({ company_id }: App): SecretBinding => ({ purpose: 'company_salt', company_id, app_id: '' })

const owners = {
  link_secrets: { column: 'app_id', idOf: ({ app_id }: App) => app_id, bindingOf: linkSecretBinding },
  company_salts: { column: 'company_id', idOf: ({ company_id }: App) => company_id, bindingOf: saltBinding },
}

/**
 * Removes the secrets of an app and its company whose master key is lost, so that their next use makes new ones. Signed
 * click ids and hashes of devices from before match nothing then.
 */
export async function removeLostSecrets(client: Client, masterKeys: MasterKeys, app: App): Promise<void> {
  for (const table of ['link_secrets', 'company_salts'] as const) {
    const { column, idOf } = owners[table]
    const sql = `FROM ${table} WHERE ${column} = $1`
    const { rows } = await client.query<{ key_id: string }>(`SELECT key_id ${sql}`, [idOf(app)])
    const lost = rows[0] !== undefined && !masterKeys.has(rows[0].key_id)
    if (lost) await client.query(`DELETE ${sql} AND key_id = $2`, [idOf(app), rows[0]!.key_id])
  }
}

async function insertSecrets(
  pool: Pool,
  masterKeys: MasterKeys,
  table: keyof typeof owners,
  apps: readonly App[],
): Promise<void> {
  const { column, idOf, bindingOf } = owners[table]
  const byId = new Map(apps.map((app) => [idOf(app), app] as const))
  // Ids have one order everywhere: two processes that insert the same rows would wait for each other otherwise.
  const ids = [...byId.keys()].toSorted()
  const made = ids.map((id) => masterKeys.encrypt(randomBytes(secret_bytes).toString('hex'), bindingOf(byId.get(id)!)))
  await pool.query(
    `INSERT INTO ${table} (${column}, key_id, iv, ciphertext, tag)
     SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[], $5::bytea[]) ON CONFLICT DO NOTHING`,
    [ids, ...(['key_id', 'iv', 'ciphertext', 'tag'] as const).map((of) => made.map((one) => one[of]))],
  )
}
