import { deadLetterRoutes } from '@tributary/contracts/admin/dead-letters'
import type { Command } from 'commander'
import { admin } from '../../admin.ts'
import { print, table } from '../../output.ts'

const help = `
A dead letter is a record that a consumer could not handle, kept for 30 days. Remove the cause first: a record that can't
be handled now either becomes a dead letter again. A retry may be repeated: an event that was written already counts once.
A retry of more than a minute goes on in the service; \`tributary dead list\` shows what is left.
--json: {dead: [{topic, reason, count, first_ms, last_ms}]}, {retried}; too_large beside it counts letters that can't be
retried because they lack their record.`

interface Filter {
  topic?: string
  reason?: string
  json?: boolean
}

/** `dead list|retry`. */
export function deadCommands(program: Command): void {
  const dead = program.command('dead').description('records that a consumer could not handle: list, retry')
  dead
    .command('list')
    .description('dead letters that wait, by topic and reason')
    .option('--topic <topic>', 'only records of this topic')
    .addHelpText('after', help)
    .action(async ({ topic, json }: Filter) => {
      const answer = await admin(deadLetterRoutes.listDeadLetters, { query: { topic } })
      const rows = answer.dead.map((one) => [one.topic, one.reason, one.count, iso(one.first_ms), iso(one.last_ms)])
      print({ json }, answer, table(['topic', 'reason', 'count', 'first', 'last'], rows))
    })
  dead
    .command('retry')
    .description('publish the records of dead letters to their topics again')
    .option('--topic <topic>', 'only records of this topic')
    .option('--reason <reason>', 'only letters with this reason')
    .addHelpText('after', help)
    .action(async ({ topic, reason, json }: Filter) => {
      const answer = await admin(deadLetterRoutes.retryDeadLetters, { body: { topic, reason } })
      const { retried, too_large } = answer
      const stays = too_large === undefined ? '' : `; ${too_large} too large to be retried stays`
      print({ json }, answer, `${retried} records went back to their topics${stays}`)
    })
}

const iso = (ms: number): string => new Date(ms).toISOString()
