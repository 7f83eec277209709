import type { MasterKeyRotated } from '@tributary/contracts/admin/system'
import { inTransaction } from '@tributary/postgres/transaction'
import { escapeIdentifier, type Pool, type PoolClient } from 'pg'
import { type AdminRequest, recordAdminAction } from '../companies/admin-audit.ts'
import { renewMasterKeyCheck } from './master-key-check.ts'
import type { EncryptedText, MasterKeys, SecretBinding } from './master-keys.ts'
import { type SecretTable, secretTables } from './secret-tables.ts'

/** Each transaction holds its rows for milliseconds. */
const rows_max = 200

/**
 * Encrypts every secret again with the first master key. A process that ends in the middle loses
 * nothing: each batch of rows is a transaction, processes with both keys read old and new rows, and the next run goes on.
 * 1. Secrets, until a pass finds none to encrypt: admin-api may still make apps with the key before.
 * 2. The check that every start reads: before, processes need the old key too; afterwards, the new one is enough.
 */
export async function rotateMasterKey(
  pool: Pool,
  masterKeys: MasterKeys,
  request: AdminRequest,
): Promise<MasterKeyRotated> {
  const key_id = masterKeys.current_id
  let rotated = 0
  for (;;) {
    const pass = { rotated: 0, unreadable: 0 }
    for (const table of secretTables) await rotateTable(pool, masterKeys, table, pass)
    rotated += pass.rotated
    if (pass.rotated > 0) continue
    const { unreadable } = pass
    await inTransaction(pool, async (client) => {
      await renewMasterKeyCheck(client, masterKeys)
      const detail = { rotated, unreadable }
      await recordAdminAction(client, request, { action: 'master_key.rotate', subject: key_id, detail })
    })
    return { key_id, rotated, unreadable }
  }
}

type SecretRow = EncryptedText & { id: string } & Omit<SecretBinding, 'purpose'>

async function rotateTable(
  pool: Pool,
  masterKeys: MasterKeys,
  table: SecretTable,
  pass: { rotated: number; unreadable: number },
): Promise<void> {
  const sql = statements(table)
  for (let after = ''; ; ) {
    const rows = await inTransaction(pool, async (client) => {
      const found = await client.query<SecretRow>(sql.select, [after, masterKeys.key_id, rows_max])
      for (const row of found.rows) {
        const again = encryptAgain(masterKeys, table, row)
        if (again === null) pass.unreadable += 1
        else await update(client, sql.update, row.id, again)
        if (again !== null) pass.rotated += 1
      }
      return found.rows
    })
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.id
  }
}

function encryptAgain(masterKeys: MasterKeys, { purpose }: SecretTable, row: SecretRow): EncryptedText | null {
  const { company_id, app_id, person_id } = row
  const binding = { purpose, company_id, app_id, ...(person_id === undefined ? {} : { person_id }) }
  try {
    return masterKeys.encrypt(masterKeys.decrypt(row, binding), binding)
  } catch {
    return null
  }
}

const update = (client: PoolClient, sql: string, id: string, { key_id, iv, ciphertext, tag }: EncryptedText) =>
  client.query(sql, [id, key_id, iv, ciphertext, tag])

/** The owner of a secret, as its `SecretBinding` names it. */
const owners_sql = {
  app: 'a.app_id, a.company_id',
  company: `'' AS app_id, s.company_id`,
  person: `'' AS app_id, '' AS company_id, s.person_id`,
}
const joins = { app: 'JOIN apps a ON a.app_id = s.app_id', company: '', person: '' }

/** Their names are those of the list above, never of a request. */
function statements({ table, id, prefix, owner }: SecretTable) {
  const name = escapeIdentifier(table)
  const column = (of: string) => escapeIdentifier(prefix + of)
  const columns = ['key_id', 'iv', 'ciphertext', 'tag'].map((of) => `s.${column(of)} AS ${of}`).join(', ')
  const key = `s.${escapeIdentifier(id)}::text`
  return {
    select: `SELECT ${key} AS id, ${owners_sql[owner]}, ${columns} FROM ${name} s ${joins[owner]}
      WHERE ${key} > $1 AND s.${column('key_id')} <> $2 ORDER BY ${key} LIMIT $3 FOR UPDATE OF s`,
    update: `UPDATE ${name} s SET ${column('key_id')} = $2, ${column('iv')} = $3, ${column('ciphertext')} = $4,
      ${column('tag')} = $5 WHERE ${key} = $1`,
  }
}
