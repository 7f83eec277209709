import { every } from '@tributary/service-kit/service/every'
import type { Trouble } from '@tributary/service-kit/service/health'
import type { Service } from '@tributary/service-kit/service/run-service'
import { type MasterKeys, masterKeyId } from '@tributary/tenancy/secrets/master-keys'
import { escapeIdentifier, type Pool } from 'pg'
import { secretTables } from './secret-tables.ts'

const look_pause_ms = 60_000
/** Apps or companies that a message names. It counts the others. */
const named_owners_max = 5

/**
 * Looks each minute for secrets that need another master key than the given ones, as after `tributary master-key forget`.
 * The log names their owners once, `/health` as long as it lasts.
 */
export function watchSecrets(pool: Pool, masterKeys: MasterKeys, service: Service): void {
  const { logger, registry, onClose, troubles } = service
  let found: Trouble[] = []
  troubles.push(() => found)

  async function look() {
    const before = new Set(found.map(({ message }) => message))
    found = await findUnreadableSecrets(pool, masterKeys)
    for (const { code, message, fix } of found) if (!before.has(message)) logger.error({ code, fix }, message)
  }

  const looking = every({ name: 'secrets_watch', pause_ms: look_pause_ms, logger, registry, work: look })
  onClose('secrets watch', () => looking.close())
}

interface KeyRow {
  key_id: string
  owners: string[]
  count: number
}

/** Secrets whose master key is not given, by table and key. It reads the ids of the keys and no secret. */
export async function findUnreadableSecrets(pool: Pool, masterKeys: MasterKeys): Promise<Trouble[]> {
  const found: Trouble[] = []
  for (const { table, id, prefix, ...rest } of secretTables) {
    if (!('loss' in rest)) continue
    const [key, owner] = [escapeIdentifier(`${prefix}key_id`), escapeIdentifier(id)]
    const { rows } = await pool.query<KeyRow>(
      `SELECT ${key} AS key_id, (array_agg(${owner} ORDER BY ${owner}))[1:${named_owners_max}] AS owners,
         count(*)::int AS count
       FROM ${escapeIdentifier(table)} GROUP BY ${key} ORDER BY ${key}`,
    )
    found.push(...rows.filter(({ key_id }) => !masterKeys.has(key_id)).map((row) => toTrouble(row, rest.loss)))
  }
  return found
}

function toTrouble({ key_id, owners, count }: KeyRow, loss: { of: string; effect: string }): Trouble {
  const more = count > owners.length ? ` and ${count - owners.length} more` : ''
  return {
    code: 'secrets_unreadable',
    message: `The ${loss.of} of ${owners.join(', ')}${more} need master key ${masterKeyId(key_id)}, which is not given: ${loss.effect}.`,
    fix: 'Start with that key from your copy, during a rotation as TRIBUTARY_MASTER_KEY_OLD. If it is lost for good, give each app a new secret: npx tributary app rotate-secret APP_ID',
    refuses: false,
  }
}
