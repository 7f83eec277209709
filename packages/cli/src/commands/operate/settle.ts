import { storedDataRoutes } from '@tributary/contracts/admin/stored-data'
import type { Command } from 'commander'
import { admin } from '../../admin.ts'
import { print } from '../../output.ts'

const help = `
Reports add up figures of days that a job works out once a day is quiet for ten minutes. This command does it at once, for all
days that are due: after a large backfill or a replay. Reports are right without it, and slower. It may be stopped and
repeated.
--json: {settled}: figures of a day that were worked out`

/** Adds `settle`. */
export function settleCommand(program: Command): void {
  program
    .command('settle')
    .description('work out the figures of closed days now, which keep reports fast')
    .addHelpText('after', help)
    .action(async (options: { json?: boolean }) => {
      let settled = 0
      for (let done = false; !done; ) {
        const answer = await admin(storedDataRoutes.settle)
        settled += answer.settled
        done = answer.done
      }
      print(options, { settled }, settled === 0 ? 'Nothing to do: all days are settled.' : `${settled} figures settled`)
    })
}
