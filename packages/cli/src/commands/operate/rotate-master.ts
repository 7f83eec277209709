import { MasterKeyRotated } from '@tributary/contracts/admin'
import type { Command } from 'commander'
import { admin } from '../../admin.ts'
import { print } from '../../output.ts'

const help = `
Before it, restart every service with the new key as TRIBUTARY_MASTER_KEY and the old one as TRIBUTARY_MASTER_KEY_OLD,
gateways first and admin-api last. After it, remove TRIBUTARY_MASTER_KEY_OLD. The command may be stopped and repeated.
/event keeps taking events all the time.
--json: {key_id, rotated, unreadable}`

/** Adds `key rotate-master`. */
export function rotateMasterCommand(key: Command): void {
  key
    .command('rotate-master')
    .description('encrypt all secrets with the new master key')
    .addHelpText('after', help)
    .action(async (options: { json?: boolean }) => {
      const answer = await admin('master-key/rotate', MasterKeyRotated, {})
      print(options, answer, describe(answer))
    })
}

function describe({ key_id, rotated, unreadable }: MasterKeyRotated): string {
  const line = `${rotated} secrets were encrypted again`
  return unreadable === 0
    ? `${line}; all secrets now use the master key ${key_id}.`
    : `${line} with the master key ${key_id}.\n${unreadable} secrets can't be decrypted with the given keys: /event answers 503 for their apps.`
}
