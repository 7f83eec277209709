import kafkajs from 'kafkajs'
import { groups, type Stage } from './stage.ts'

/** Has the log forget all that its consumers have read, as it does after seven days. Returns the number of records. */
export async function forgetRead({ fleet }: Stage): Promise<number> {
  const kafka = new kafkajs.Kafka({ brokers: [fleet.engine('kafka').url], logLevel: kafkajs.logLevel.NOTHING })
  const admin = kafka.admin()
  await admin.connect()
  try {
    let records = 0
    for (const topic of new Set(groups.map((group) => group.topic.name))) {
      const readers = groups.filter((group) => group.topic.name === topic)
      const offsets = await Promise.all(
        readers.map(({ name }) => fleet.broker.groupOffsets(name, topic, { dated: false })),
      )
      const partitions = offsets[0]!.map(({ partition, earliest }) => {
        const read = offsets.map((of) => of.find((one) => one.partition === partition)?.committed ?? earliest)
        return { partition, earliest, offset: Math.min(...read) }
      })
      records += partitions.reduce((sum, { earliest, offset }) => sum + offset - earliest, 0)
      await admin.fetchTopicOffsets(topic) // has the client know the leaders of its partitions
      await admin.deleteTopicRecords({
        topic,
        partitions: partitions.map(({ partition, offset }) => ({ partition, offset: String(offset) })),
      })
    }
    return records
  } finally {
    await admin.disconnect()
  }
}
