import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { consumers } from '@tributary/contracts/consumers'
import type { ConsumerDefinition } from '@tributary/service-kit/consumer/define-consumer'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'

const folder = join(import.meta.dirname, '..', '..', 'services')
const names = readdirSync(folder).filter((name) => name !== 'standalone')

type Builders = readonly ((context: object) => ConsumerDefinition<unknown> | null)[]

test('status shows the consumers that services declare, and no others', async () => {
  const built = await Promise.all(
    names.map(async (name) => {
      const { service } = await import(join(folder, name, 'src', 'service.ts'))
      const { consumers: builders = [] } = service as { consumers?: Builders }
      const context = { clickhouse: {}, registry: new Registry(), logger: pino({ level: 'silent' }), troubles: [] }
      return builders.flatMap((build) => build(context) ?? [])
    }),
  )
  const declared = built.flat().map(({ name, topic }) => [name, topic.name])
  const known = Object.values(consumers).map(({ name, topic }) => [name, topic.name])
  expect(known.length).toBeGreaterThan(0)
  expect(declared.toSorted()).toEqual(known.toSorted())
})
