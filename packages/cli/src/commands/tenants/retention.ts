import { type RetentionRun, retentionRoutes } from '@tributary/contracts/admin/retention'
import type { Command } from 'commander'
import { admin } from '../../admin.ts'
import { print, table } from '../../output.ts'

const help = `
Prints by table how many rows are to be blanked or deleted, and lets the run of the night act now. --dry-run ends before that.
The command may be stopped: the run goes on. docs/privacy.md says what each setting of a company removes.
--json: {planned, rows, objects_blanked, objects_deleted, raw_waits?}: rows by table before, and what was done; with
--dry-run {planned}`

/** Adds `retention run`. */
export function retentionCommands(program: Command): void {
  program
    .command('retention')
    .description('what companies keep for how long: run')
    .command('run')
    .description('blank and delete now what is older than the settings of its company')
    .option('--dry-run', 'only print the rows by table')
    .addHelpText('after', help)
    .action(async ({ dryRun, json }: { dryRun?: boolean; json?: boolean }) => {
      const { rows: planned } = await untilDone({ dry_run: true })
      if (dryRun) return print({ json }, { planned }, rowsOf(planned, 'Nothing would be removed.'))
      if (!json) process.stderr.write(`${rowsOf(planned, 'No row is to be removed.')}\n`)
      const { rows, objects_blanked, objects_deleted, raw_waits } = await untilDone({})
      const waits = raw_waits ? ['Raw events wait for the eraser: run it again later, or leave it to the night.'] : []
      const objects = `${objects_blanked} audit objects blanked, ${objects_deleted} deleted.`
      print(
        { json },
        { planned, rows, objects_blanked, objects_deleted, ...(raw_waits && { raw_waits }) },
        [rowsOf(rows, 'No row was removed.'), objects, ...waits].join('\n'),
      )
    })
}

async function untilDone(body: { dry_run?: boolean }): Promise<RetentionRun> {
  let answer = await admin(retentionRoutes.runRetention, { body })
  while (!answer.done) answer = await admin(retentionRoutes.runRetention, { body: { run: answer.run } })
  return answer
}

const rowsOf = (rows: Record<string, number>, none: string): string =>
  Object.keys(rows).length === 0 ? none : table(['table', 'rows'], Object.entries(rows))
