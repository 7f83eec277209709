import { describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import { expect, it, vi } from 'vitest'
import { makeTopic, openTestBroker } from './kafka-under-test.ts'

await describeWithOwnEngine('kafka', (kafka) => {
  it('answers in time with bounded memory while Kafka takes requests and says nothing', async () => {
    const buffer_bytes_max = 4 * 1024 * 1024
    const broker = await openTestBroker(kafka.url, { buffer_bytes_max })
    const topic = await makeTopic(broker)
    const publish = () => broker.publish([{ topic, partition: 0, key: null, value: Buffer.alloc(100 * 1024) }])
    await publish()

    await kafka.pause()
    const started = performance.now()
    const answers = Array.from({ length: 100 }, async () => {
      const code = await publish().then(
        () => 'acknowledged',
        (error) => error.code,
      )
      return { code, after_ms: performance.now() - started }
    })
    const outcomes = await Promise.all(answers)
    expect(outcomes.map(({ code }) => code)).toEqual(outcomes.map(() => 'unavailable'))
    const atOnce = outcomes.filter(({ after_ms }) => after_ms < 1000).length
    expect(atOnce).toBeGreaterThanOrEqual(100 - Math.ceil(buffer_bytes_max / (100 * 1024)))
    expect(Math.max(...outcomes.map(({ after_ms }) => after_ms))).toBeLessThan(30_000)
    await expect(broker.checkHealth()).rejects.toThrow()

    kafka.resume()
    await vi.waitFor(publish, { timeout: 180_000, interval: 100 })
    await broker.close()
  })
})
