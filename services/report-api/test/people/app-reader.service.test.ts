import { limits } from '@tributary/contracts/limits'
import { createKeyRate } from '@tributary/tenancy/quota/key-rate'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createReaders } from '../../src/people/app-reader.ts'

const now = () => Date.UTC(2026, 10, 28)
const person = (person_id: string) => ({ caller: { kind: 'person', session: { person_id } } }) as never

it('counts a person as a key: whoever reads too often waits, and nobody else does', async () => {
  const keyValue = memoryKeyValue(now)
  const keyRate = createKeyRate({ keyValue, breaker: (step) => step(), now, registry: new Registry() })
  const { getPerson } = createReaders({ pool: null as never, keyRate })
  for (let n = 0; n < limits.key_requests_max; n += 1) expect(await getPerson(person('per_1'))).toBe('per_1')
  await expect(getPerson(person('per_1'))).rejects.toMatchObject({ code: 'rate_limited', status: 429 })
  expect(await getPerson(person('per_2'))).toBe('per_2')
})
