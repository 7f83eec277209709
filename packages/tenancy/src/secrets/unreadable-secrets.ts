import { every } from '@tributary/service-kit/service/every'
import type { Trouble } from '@tributary/service-kit/service/health'
import type { Service } from '@tributary/service-kit/service/run-service'
import { findUnreadableApps } from '@tributary/tenancy/secrets/master-key-check'
import type { MasterKeys } from '@tributary/tenancy/secrets/master-keys'
import type { Pool } from 'pg'

const look_pause_ms = 60_000
/** Apps that a message names. It counts the others. */
const named_apps_max = 5

/**
 * Looks each minute for apps whose signing secret needs another master key than the given ones, as after
 * `tributary master-key forget`: `/event` answers 503 for them. The log names them once, `/health` as long as it lasts.
 */
export function watchSecrets(pool: Pool, masterKeys: MasterKeys, service: Service): void {
  const { logger, registry, onClose, troubles } = service
  let found: Trouble[] = []
  troubles.push(() => found)

  async function look() {
    const before = new Set(found.map(({ message }) => message))
    found = [...(await findUnreadableApps(pool, masterKeys))].map(toTrouble)
    for (const { code, message, mend } of found) if (!before.has(message)) logger.error({ code, mend }, message)
  }

  const looking = every({ name: 'secrets_watch', pause_ms: look_pause_ms, logger, registry, work: look })
  onClose('secrets watch', () => looking.close())
}

function toTrouble([key_id, app_ids]: [string, string[]]): Trouble {
  const named = app_ids.slice(0, named_apps_max).join(', ')
  const more = app_ids.length > named_apps_max ? ` and ${app_ids.length - named_apps_max} more` : ''
  return {
    code: 'secrets_unreadable',
    message: `The signing secrets of ${named}${more} need master key ${key_id}, which is not given: /event answers 503 for them.`,
    mend: 'Start with that key from your copy. Without it give each app a new secret: npx tributary app rotate-secret APP_ID',
    refuses: false,
  }
}
