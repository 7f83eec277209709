import { writeSync } from 'node:fs'
import { openEmbeddedBroker } from '@tributary/broker/embedded'

/**
 * A process to be killed: four publishers append calls of three records, `<run> <publisher> <n> <part>` and a filling,
 * and each call is printed as `<run> <publisher> <n>` once it is acknowledged. Ends with `rejected` when the log fails.
 */
const [dir, run] = process.argv.slice(2)
const broker = await openEmbeddedBroker({ dir: dir!, now: Date.now, partitions: 2 })
await broker.applyTopics([{ name: 'killed.runs.v1', partitions: 2, retention_ms: 3_600_000 }])
const filling = 'x'.repeat(3000)

async function appendForever(publisher: number): Promise<never> {
  for (let n = 0; ; n += 1) {
    const values = [0, 1, 2].map((part) => Buffer.from(`${run} ${publisher} ${n} ${part} ${filling}`))
    await broker.publish(
      values.map((value, part) => ({ topic: 'killed.runs.v1', partition: part % 2, key: `${publisher}`, value })),
    )
    // Straight into the pipe: what was printed was acknowledged, and what was acknowledged is printed.
    writeSync(1, `${run} ${publisher} ${n}\n`)
  }
}

try {
  await Promise.all([0, 1, 2, 3].map(appendForever))
} catch {
  const unhealthy = await broker.checkHealth().then(
    () => 'healthy',
    () => 'unhealthy',
  )
  writeSync(1, `rejected ${unhealthy}\n`)
  process.exit(0)
}
