import { join } from 'node:path'
import type { Resource } from '@tributary/service-kit/resources/resource'
import type { Trouble } from '@tributary/service-kit/service/health'
import { StartRefused } from '@tributary/service-kit/settings/start-refused'
import { findNeededMasterKey } from '@tributary/tenancy/secrets/master-key-check'
import type { MasterKeys } from '@tributary/tenancy/secrets/master-keys'
import {
  type MasterKeyConfig,
  masterKeySettings,
  requireMasterKey,
} from '@tributary/tenancy/secrets/require-master-key'
import { watchSecrets } from '@tributary/tenancy/secrets/unreadable-secrets'
import type { Pool } from 'pg'
import { makeMasterKey, readPrivateFile } from './local-secrets.ts'

/** The master keys of the settings or of the data folder, which is watched then; so are the secrets in PostgreSQL. */
export const localMasterKeysResource = (
  data_dir: string,
): Resource<MasterKeys, 'TRIBUTARY_MASTER_KEY' | 'TRIBUTARY_MASTER_KEY_OLD', never, { postgres: Pool }> => ({
  settings: masterKeySettings,
  required: [],
  on: ['postgres'],
  async open(config, service, { postgres }) {
    const masterKeys = await openLocalMasterKeys(postgres, data_dir, config)
    if (config.TRIBUTARY_MASTER_KEY === undefined) service.troubles.push(masterKeyFileTroubles(data_dir))
    watchSecrets(postgres, masterKeys, service)
    return masterKeys
  },
})

/**
 * The master key of the setting, else of `master-key` in the data folder. Only a folder without any secret gets a new one:
 * a key that is missing beside secrets, or is another one, throws `StartRefused`.
 */
export async function openLocalMasterKeys(
  pool: Pool,
  data_dir: string,
  config: Partial<MasterKeyConfig>,
): Promise<MasterKeys> {
  const require = (key: string, source?: string) =>
    requireMasterKey(pool, { ...config, TRIBUTARY_MASTER_KEY: key }, source)
  if (config.TRIBUTARY_MASTER_KEY !== undefined) return require(config.TRIBUTARY_MASTER_KEY)
  const path = join(data_dir, 'master-key')
  const found = readPrivateFile(path)
  if (found !== null) return require(found, path)
  const needed = await findNeededMasterKey(pool)
  if (needed !== null) {
    throw new StartRefused(
      `${path} is missing, and the secrets in PostgreSQL need it (id ${needed}). Put it there from your copy, or set TRIBUTARY_MASTER_KEY.`,
    )
  }
  return require(makeMasterKey(path), path)
}

/**
 * Looks at `master-key` of a data folder while it is in use: without that file, as it was, the next start is refused and
 * the signing secrets of all apps may be lost.
 */
function masterKeyFileTroubles(data_dir: string): () => Trouble[] {
  const path = join(data_dir, 'master-key')
  const used = readPrivateFile(path)
  return () => {
    const message = findFault(path, used)
    const fix = 'Put the key there from your copy (chmod 600) before the next start.'
    return message === null ? [] : [{ code: 'master_key_file', message, fix, refuses: false }]
  }
}

function findFault(path: string, used: string | null): string | null {
  try {
    const found = readPrivateFile(path)
    if (found === null) return `${path} is missing.`
    return found === used ? null : `${path} holds another key than the one in use.`
  } catch (error) {
    return (error as Error).message
  }
}
