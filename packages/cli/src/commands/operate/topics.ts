import type { AppliedTopics } from '@tributary/broker/broker'
import type { Command } from 'commander'
import { usageError } from '../../errors.ts'
import { print } from '../../output.ts'

const help = `
Makes missing topics on TRIBUTARY_KAFKA_BROKERS, with the partitions and retention of this version and the copies of
TRIBUTARY_KAFKA_REPLICATION_FACTOR and TRIBUTARY_KAFKA_MIN_INSYNC_REPLICAS. Changes these settings on existing topics
where they differ; other settings of a topic stay unchanged.
--json: {dry_run, created: [names], changed: [{topic, setting, from, to}], unchanged: [names]}`

const handOverHelp = `
Marks the first topic. Writers republish all records after the marks to the second topic, and read that topic too. The
command may be repeated but can't be undone. First update all writers to a version that knows marks: see "More
partitions" in docs/operations.md.
--json: {from, to, partitions}`

/** Adds `topics apply [--dry-run]` and `topics hand-over --from T --to T`. */
export function topicsCommands(program: Command): void {
  const topics = program.command('topics').description('the topics of Kafka: apply, hand-over')
  topics
    .command('hand-over')
    .description('move the traffic of a topic to another topic with more partitions')
    .requiredOption('--from <topic>', 'the present topic')
    .requiredOption('--to <topic>', 'the topic that replaces it')
    .addHelpText('after', handOverHelp)
    .action(async ({ from, to, json }: { from: string; to: string; json?: boolean }) => {
      if (from === to) throw usageError('--from and --to must be different topics.')
      const { handTopicOver } = await import('../../engines/topics.ts')
      const partitions = await handTopicOver(from, to)
      print({ json }, { from, to, partitions }, `${from}  marked in ${partitions} partitions, continues in ${to}`)
    })
  topics
    .command('apply')
    .description('make the topics of this version and correct their settings')
    .option('--dry-run', 'only list the changes that would be made')
    .addHelpText('after', help)
    .action(async ({ dryRun = false, json }: { dryRun?: boolean; json?: boolean }) => {
      // Imported here, so that other commands do not wait for a Kafka client.
      const { applyAllTopics } = await import('../../engines/topics.ts')
      const applied = await applyAllTopics(dryRun)
      print({ json }, { dry_run: dryRun, ...applied }, describe(applied, dryRun ? 'would be ' : ''))
    })
}

function describe({ created, changed, unchanged }: AppliedTopics, would: string): string {
  return [
    ...created.map((name) => `${name}  ${would}created`),
    ...changed.map(({ topic, setting, from, to }) => `${topic}  ${would}changed  ${setting} from ${from} to ${to}`),
    ...unchanged.map((name) => `${name}  unchanged`),
  ].join('\n')
}
