import { describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import { expect, it, vi } from 'vitest'
import { fetchSizes, makeTopic, openTestBroker } from './kafka-under-test.ts'

const patience = { timeout: 180_000, interval: 50 }

await describeWithOwnEngine('kafka', (kafka) => {
  it('answers `unavailable` in seconds while Kafka is away, and loses nothing acknowledged when it is back', async () => {
    const broker = await openTestBroker(kafka.url)
    const topic = await makeTopic(broker, 2)
    const read = new Set<string>()
    const consumption = await broker.consume({
      group: `group-of-${topic}`,
      topic,
      ...fetchSizes,
      async onChunk(chunk) {
        for (const { value } of chunk.records) read.add(value.toString())
        await chunk.commit(chunk.records.at(-1)!.offset + 1)
      },
    })
    const acknowledged: string[] = []
    let refused = 0
    let slowest_ms = 0
    let ended = false
    const publisher = async (name: number) => {
      for (let n = 0; !ended; n += 1) {
        const text = `${name} ${n}`
        const started = performance.now()
        try {
          await broker.publish([{ topic, partition: name % 2, key: null, value: Buffer.from(text) }])
          acknowledged.push(text)
        } catch (error) {
          expect(error).toMatchObject({ code: 'unavailable' })
          refused += 1
        }
        slowest_ms = Math.max(slowest_ms, performance.now() - started)
      }
    }
    const publishers = Array.from({ length: 8 }, (_, name) => publisher(name))
    await vi.waitFor(() => expect(read.size).toBeGreaterThan(100), patience)

    await kafka.kill()
    await vi.waitFor(() => expect(refused).toBeGreaterThanOrEqual(8), patience)
    await expect(broker.checkHealth()).rejects.toThrow()
    await expect(broker.groupOffsets(`group-of-${topic}`, topic)).rejects.toMatchObject({ code: 'unavailable' })
    await kafka.restart()

    const before = acknowledged.length
    await vi.waitFor(() => expect(acknowledged.length).toBeGreaterThan(before + 100), patience)
    await broker.checkHealth()
    ended = true
    await Promise.all(publishers)
    await vi.waitFor(() => expect(acknowledged.filter((text) => !read.has(text))).toEqual([]), patience)
    expect(slowest_ms).toBeLessThan(30_000)
    await consumption.close()
    await broker.close()
  })
})
