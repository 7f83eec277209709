import type { Broker } from '@tributary/broker/broker'
import { deadLetterTopic, type Topic } from '@tributary/contracts/topics'
import { EngineRefused, toRefusal } from './engine-refused.ts'

/** Throws `StartRefused` when one of the topics or its dead-letter topic is missing or has other partitions. */
export async function requireTopics(broker: Pick<Broker, 'partitionCount'>, topics: readonly Topic[]): Promise<void> {
  for (const { name, partitions } of topics.flatMap((topic) => [topic, deadLetterTopic(topic)])) {
    const found = await broker.partitionCount(name).catch((error: Error) => {
      if ('code' in error) throw toRefusal('Kafka', kafkaSuspects, error) // away
      return null
    })
    if (found === null) throw new EngineRefused(`The topic ${name} is missing.`, 'Run: npx tributary topics apply')
    if (found !== partitions) {
      throw new EngineRefused(
        `The topic ${name} has ${found} partitions, not ${partitions}, and another number would tear installs apart.`,
        'Delete it if it is empty and run: npx tributary topics apply',
      )
    }
  }
}

/** A broker closes the connection without an error message when TLS or SASL differ from what it expects. */
export const kafkaSuspects = 'what TRIBUTARY_KAFKA_BROKERS, TRIBUTARY_KAFKA_TLS and TRIBUTARY_KAFKA_SASL say'
