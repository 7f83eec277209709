import type { AppliedTopics } from '@tributary/broker/broker'
import type { Command } from 'commander'
import { usageError } from '../../errors.ts'
import { print } from '../../output.ts'

const help = `
Makes what is missing on TRIBUTARY_KAFKA_BROKERS: partitions and retention as this version has them, copies as
TRIBUTARY_KAFKA_REPLICATION_FACTOR and TRIBUTARY_KAFKA_MIN_INSYNC_REPLICAS say. Settings that differ are brought to that;
other settings of a topic stay as they are.
--json: {dry_run, created: [names], changed: [{topic, setting, from, to}], unchanged: [names]}`

const handOverHelp = `
From now on writers take what is published to the first topic to the second one, and begin to read the second one. May be
repeated; it can't be undone. Every writer must know marks before: docs/operations.md "More partitions".
--json: {from, to, partitions}`

/** `topics apply [--dry-run]`, `topics hand-over --from T --to T`. */
export function topicsCommands(program: Command): void {
  const topics = program.command('topics').description('the topics of Kafka: apply, hand-over')
  topics
    .command('hand-over')
    .description('mark a topic: what comes behind the marks belongs to another topic, with more partitions')
    .requiredOption('--from <topic>', 'the topic to be left')
    .requiredOption('--to <topic>', 'the topic that takes its place')
    .addHelpText('after', handOverHelp)
    .action(async ({ from, to, json }: { from: string; to: string; json?: boolean }) => {
      if (from === to) throw usageError('A topic is not handed over to itself.')
      const { handTopicOver } = await import('../../engines/topics.ts')
      const partitions = await handTopicOver(from, to)
      print({ json }, { from, to, partitions }, `${from}  marked in ${partitions} partitions, goes on in ${to}`)
    })
  topics
    .command('apply')
    .description('make the topics of this version, and bring their settings to what they should be')
    .option('--dry-run', 'only say what would be done')
    .addHelpText('after', help)
    .action(async ({ dryRun = false, json }: { dryRun?: boolean; json?: boolean }) => {
      // Loaded here: no other command should wait for a Kafka client.
      const { applyAllTopics } = await import('../../engines/topics.ts')
      const applied = await applyAllTopics(dryRun)
      print({ json }, { dry_run: dryRun, ...applied }, describe(applied, dryRun ? 'would be ' : ''))
    })
}

function describe({ created, changed, unchanged }: AppliedTopics, would: string): string {
  return [
    ...created.map((name) => `${name}  ${would}created`),
    ...changed.map(({ topic, setting, from, to }) => `${topic}  ${would}changed  ${setting} from ${from} to ${to}`),
    ...unchanged.map((name) => `${name}  is as it should be`),
  ].join('\n')
}
