import { EngineRefused, toRefusal } from '@tributary/service-kit/resources/engine-refused'
import { StartRefused } from '@tributary/service-kit/settings/start-refused'
import { isMasterKeyRight } from '@tributary/tenancy/secrets/master-key-check'
import { type MasterKey, type MasterKeys, openMasterKeys, readMasterKey } from '@tributary/tenancy/secrets/master-keys'
import type { Pool } from 'pg'

export const masterKeySettings = ['TRIBUTARY_MASTER_KEY', 'TRIBUTARY_MASTER_KEY_OLD'] as const

/** The values of `masterKeySettings`, the first one required. */
export interface MasterKeyConfig {
  TRIBUTARY_MASTER_KEY: string
  TRIBUTARY_MASTER_KEY_OLD?: string | undefined
}

/**
 * The master keys for use: the one that encrypts, and the one before it while a rotation runs. Throws `StartRefused`
 * when the secrets in PostgreSQL need another one: with it each signed request would be answered 503 for ever. `source`
 * is the setting or file that the key is from.
 */
export async function requireMasterKey(
  pool: Pool,
  { TRIBUTARY_MASTER_KEY: base64, TRIBUTARY_MASTER_KEY_OLD: old }: MasterKeyConfig,
  source = 'TRIBUTARY_MASTER_KEY',
): Promise<MasterKeys> {
  const key = readKey(base64, source)
  const masterKeys = openMasterKeys([key, ...(old === undefined ? [] : [readMasterKey(old)])])
  const right = await isMasterKeyRight(pool, masterKeys).catch((error: unknown) => {
    throw toRefusal('PostgreSQL', 'TRIBUTARY_POSTGRES_URL', error)
  })
  if (right) return masterKeys
  throw new EngineRefused(
    `The secrets in PostgreSQL were not made with the master key of ${source} (id ${key.id}).`,
    'Put the right one there from your copy. During a rotation the key before it stands in TRIBUTARY_MASTER_KEY_OLD.',
  )
}

function readKey(base64: string, source: string): MasterKey {
  try {
    return readMasterKey(base64)
  } catch (cause) {
    throw new StartRefused(`${source} holds no master key, 32 bytes in base64. Put it there from your copy.`, { cause })
  }
}
