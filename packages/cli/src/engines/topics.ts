import { type AppliedTopics, TopicsRefused } from '@tributary/broker/broker'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { publishMarks } from '@tributary/service-kit/consumer/hand-over'
import { kafkaSettings, openKafka } from '@tributary/service-kit/resources/kafka'
import { readEngineSettings } from '../config.ts'
import { CliError } from '../errors.ts'
import { withService } from './brief-service.ts'

/** All topics of this version and their dead-letter topics. */
export const everyTopic = () => Object.values(topics).flatMap((topic) => [topic, deadLetterTopic(topic)])

/** Makes and updates the topics on the Kafka of the settings. Throws `StartRefused`, or CliError with the code of `TopicsRefused`. */
export function applyAllTopics(dryRun: boolean): Promise<AppliedTopics> {
  const config = readEngineSettings(kafkaSettings, ['TRIBUTARY_KAFKA_BROKERS'])
  return withService(async (service) => {
    const broker = await openKafka(config, service)
    try {
      return await broker.applyTopics(everyTopic(), { dryRun })
    } catch (error) {
      if (error instanceof TopicsRefused) throw new CliError(error.code, `${error.message}. ${fixes[error.code]}`)
      throw new CliError('topics_failed', `Kafka did not apply the topics: ${(error as Error).message}`)
    }
  })
}

/** Marks every partition of a topic on the Kafka of the settings, and returns the number of partitions. */
export function handTopicOver(from: string, to: string): Promise<number> {
  const config = readEngineSettings(kafkaSettings, ['TRIBUTARY_KAFKA_BROKERS'])
  return withService(async (service) => {
    const broker = await openKafka(config, service)
    try {
      return await publishMarks(broker, from, to)
    } catch (error) {
      throw new CliError('topics_failed', `The topic was not handed over: ${(error as Error).message}`)
    }
  })
}

/** How to fix each refusal of topics. */
export const fixes: Record<TopicsRefused['code'], string> = {
  topic_differs:
    'Nothing was changed. Delete the topic if it is empty. To change its copies, use kafka-reassign-partitions, or set ' +
    'TRIBUTARY_KAFKA_REPLICATION_FACTOR to the present number.',
  too_few_brokers:
    'Nothing was changed. Add brokers, or set TRIBUTARY_KAFKA_REPLICATION_FACTOR and TRIBUTARY_KAFKA_MIN_INSYNC_REPLICAS; ' +
    'on a single broker both are 1.',
  bad_replication:
    'Set TRIBUTARY_KAFKA_MIN_INSYNC_REPLICAS to at most TRIBUTARY_KAFKA_REPLICATION_FACTOR, or below it so that a broker may fail.',
}
