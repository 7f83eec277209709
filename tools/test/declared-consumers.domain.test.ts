import { consumers } from '@tributary/contracts/consumers'
import type { ConsumerDefinition } from '@tributary/service-kit/consumer/define-consumer'
import { loadProcesses } from '@tributary/testing/declared-services'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'

type Builders = readonly ((context: object) => ConsumerDefinition<unknown> | null)[]

test('status shows the consumers that services declare, and no others', async () => {
  const services = (await loadProcesses()).flatMap(({ parts }) => parts)
  const built = services.flatMap(({ consumers: builders = [] }) => {
    const context = { clickhouse: {}, registry: new Registry(), logger: pino({ level: 'silent' }), troubles: [] }
    return (builders as Builders).flatMap((build) => build(context) ?? [])
  })
  const declared = built.map(({ name, topic }) => [name, topic.name])
  const known = Object.values(consumers).map(({ name, topic }) => [name, topic.name])
  expect(known.length).toBeGreaterThan(0)
  expect(declared.toSorted()).toEqual(known.toSorted())
})
