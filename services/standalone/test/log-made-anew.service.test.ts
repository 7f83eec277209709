import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { consumers } from '@tributary/contracts/consumers'
import { keepEndingStamps } from '@tributary/service-kit/consumer/stamps'
import { createLogger } from '@tributary/service-kit/service/logger'
import type { Service } from '@tributary/service-kit/service/run-service'
import { sealRaw } from '@tributary/tables/raw/seal'
import { postgresStamps } from '@tributary/tables/raw/stamps'
import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import { Registry } from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import { standaloneEngines } from '../src/engines.ts'

const { name, topic } = consumers.eventWriter

/** The embedded log in a new folder, beside this PostgreSQL. */
async function openNewLog(postgres: Awaited<ReturnType<typeof openTestPostgres>>['pool']) {
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-log-'))
  const closes: (() => Promise<void>)[] = []
  onTestFinished(async () => {
    for (const close of closes) await close()
    rmSync(data_dir, { recursive: true })
  })
  const service: Service = {
    ...{ name: 'standalone', logger: createLogger({ name: 'standalone', level: 'silent', format: 'json' }) },
    ...{ registry: new Registry(), now: Date.now, elapsed: () => performance.now(), checks: {}, troubles: [] },
    onClose: (_what, close) => closes.push(close),
    endNow(error) {
      throw error
    },
  }
  const { broker } = standaloneEngines(data_dir, { open: () => true } as never)
  return { broker: await broker.open({} as never, service, { postgres }), logger: service.logger }
}

test('what a lost log left at work in its last partition is ended by the log that is made anew', async () => {
  const { pool, close } = await openTestPostgres()
  onTestFinished(close)
  const stamps = postgresStamps(pool)
  const stamp_ms = await stamps.pin({ consumer: name, topic: topic.name, partition: 3 }, 0)
  const { broker, logger } = await openNewLog(pool)
  onTestFinished(keepEndingStamps({ broker, consumer: { name, topic, stamps }, logger }))
  await expect.poll(async () => (await sealRaw(pool, name)).complete_until_ms).toBeGreaterThan(stamp_ms)
})

test('the log of a new installation has two partitions', async () => {
  const { pool, close } = await openTestPostgres()
  onTestFinished(close)
  const { broker } = await openNewLog(pool)
  expect(await broker.partitionCount(topic.name)).toBe(2)
})
