import { type MasterKeyRotated, systemRoutes } from '@tributary/contracts/admin/system'
import type { Command } from 'commander'
import { admin } from '../../admin.ts'
import { print } from '../../output.ts'

const help = `
Before it: give every service the new key as TRIBUTARY_MASTER_KEY and the old one as TRIBUTARY_MASTER_KEY_OLD, the
gateways first and admin-api last. After it: take TRIBUTARY_MASTER_KEY_OLD away. It may be broken off and repeated, and
/event takes events all the time.
--json: {key_id, rotated, unreadable}`

/** `key rotate-master`. */
export function rotateMasterCommand(key: Command): void {
  key
    .command('rotate-master')
    .description('encrypt every secret with the present master key')
    .addHelpText('after', help)
    .action(async (options: { json?: boolean }) => {
      const answer = await admin(systemRoutes.rotateMasterKey)
      print(options, answer, describe(answer))
    })
}

function describe({ key_id, rotated, unreadable }: MasterKeyRotated): string {
  const line = `${rotated} secrets were encrypted again`
  return unreadable === 0
    ? `${line}; all are under the master key ${key_id} now.`
    : `${line} with the master key ${key_id}.\nBut ${unreadable} secrets can't be read with the given keys: /event answers 503 for their apps.`
}
