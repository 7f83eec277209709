import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Committed } from '@tributary/broker/broker'
import { describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import { expect, it, onTestFinished, vi } from 'vitest'
import { fetchSizes, makeTopic, openTestBroker } from './kafka-under-test.ts'

await describeWithOwnEngine('kafka', (kafka) => {
  it('refuses the commit of a member that slept while its partition was given away', async () => {
    const broker = await openTestBroker(kafka.url)
    const topic = await makeTopic(broker)
    const group = `group-of-${topic}`
    await broker.publish([{ topic, partition: 0, key: null, value: Buffer.from('a') }])
    const sleeper = fork(join(import.meta.dirname, 'consume-until-fenced.ts'), [kafka.url, group, topic])
    onTestFinished(() => void sleeper.kill('SIGKILL'))
    await once(sleeper, 'message')
    sleeper.kill('SIGSTOP')

    const found: (Committed | null)[] = []
    const consumption = await broker.consume({
      group,
      topic,
      ...fetchSizes,
      async onChunk(chunk) {
        const committed = await chunk.committed()
        await chunk.commit(chunk.records.at(-1)!.offset + 1, 'of the new owner')
        found.push(committed)
      },
    })
    await vi.waitFor(() => expect(found).toEqual([{ offset: 0, metadata: 'intent of the sleeper' }]), {
      timeout: 180_000,
    })
    sleeper.kill('SIGCONT')
    sleeper.send('commit now')
    const [outcome] = await once(sleeper, 'message')
    expect(outcome).toBe('FencedError')
    const [partition] = await broker.groupOffsets(group, topic)
    expect(partition).toMatchObject({ committed: 1, end: 1 })
    await consumption.close()
    await broker.close()
  })
})
