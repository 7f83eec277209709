import { DeadLetters, DeadLettersRetried } from '@tributary/contracts/admin'
import type { Command } from 'commander'
import { admin } from '../../admin.ts'
import { print, table } from '../../output.ts'

const help = `
A dead letter is a record that a consumer could not handle. It is kept for 30 days. Remove the cause before a retry, or
the record becomes a dead letter again. A retry may be repeated: an event that is already written counts once. A retry
that takes more than a minute continues in the service; \`tributary dead list\` shows the remaining letters.
--json: {dead: [{topic, reason, count, first_ms, last_ms}]}, {retried}; too_large counts letters that can't be
retried, because their record was too large to keep.`

interface Filter {
  topic?: string
  reason?: string
  json?: boolean
}

/** Adds `dead list|retry`. */
export function deadCommands(program: Command): void {
  const dead = program
    .command('dead')
    .description('dead letters, records that a consumer could not handle: list, retry')
  dead
    .command('list')
    .description('list dead letters by topic and reason')
    .option('--topic <topic>', 'only records of this topic')
    .addHelpText('after', help)
    .action(async ({ topic, json }: Filter) => {
      const query = topic === undefined ? '' : `?topic=${encodeURIComponent(topic)}`
      const answer = await admin(`dead-letters${query}`, DeadLetters)
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
      const answer = await admin('dead-letters/retry', DeadLettersRetried, { topic, reason })
      const { retried, too_large } = answer
      const stays = too_large === undefined ? '' : `; ${too_large} are too large for a retry and stay`
      print({ json }, answer, `${retried} records went back to their topics${stays}`)
    })
}

const iso = (ms: number): string => new Date(ms).toISOString()
