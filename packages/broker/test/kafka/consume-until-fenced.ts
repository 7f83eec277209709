import { openTestBroker } from './kafka-under-test.ts'

/** A member that holds its first chunk until it is told to commit (kafka-fenced.failure.test.ts). */
const [url = '', group = '', topic = ''] = process.argv.slice(2)
const broker = await openTestBroker(url)
await broker.consume({
  group,
  topic,
  bytes_min: 1,
  bytes_max: 1024,
  wait_ms_max: 50,
  async onChunk(chunk) {
    const { offset } = chunk.records[0]!
    await chunk.commit(offset, 'intent of the sleeper')
    process.send?.('holding')
    await new Promise((resolve) => process.once('message', resolve))
    const outcome = await chunk.commit(offset + 1).then(
      () => 'committed',
      (error) => error.name,
    )
    process.send?.(outcome)
  },
})
