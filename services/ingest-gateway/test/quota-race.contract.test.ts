import { randomInt, randomUUID } from 'node:crypto'
import { openRedisKeyValue } from '@tributary/key-value/redis'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import {
  buildTenant,
  memoryCredentials,
  noSchemas,
  sdkEvent,
  signedHeaders,
  type Tenant,
} from '@tributary/testing/builders'
import { describeWithEngine } from '@tributary/testing/engines/describe-with-engine'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryCosts } from '@tributary/testing/twins/memory-costs'
import { noGeo } from '@tributary/testing/twins/no-geo'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { ingestGateway } from '../src/app.ts'

const logger = pino({ level: 'silent' })
const cap = 3000

await describeWithEngine('redis', (redis) => {
  /** A gateway process of its own on the shared Redis; every `fails`-th audit write is refused. */
  async function openGateway(tenant: Tenant, fails: number) {
    const keyValue = await openRedisKeyValue({ url: redis.url, logger })
    const app = createHttpApp({ logger })
    let writes = 0
    const durable = async () => {
      writes += 1
      if (writes % fails === 0) throw new Error('disk full')
    }
    const deps = {
      ...{
        credentials: memoryCredentials([tenant]),
        liveSchemas: noSchemas,
        keyValue,
        costs: memoryCosts(),
        geo: noGeo,
      },
      ...{ logger, registry: new Registry(), now: Date.now },
    }
    const groupCommit = { append: () => ({ audit_key: randomUUID(), durable: durable() }) }
    const audit = {
      putOnce: async () => durable().then(() => 'created' as const),
      get: async () => null,
      checkHealth: async () => {},
      close: async () => {},
    }
    const broker = memoryBroker(4, Date.now)
    await app.register(ingestGateway({ ...deps, groupCommit, audit, broker, partitions: 4, gateway_id: randomUUID() }))
    return { app, close: async () => void (await Promise.all([app.close(), keyValue.close()])) }
  }

  it('two gateways that race for the last events of a month give away exactly as many as there are', async () => {
    const tenant = buildTenant()
    tenant.company = { ...tenant.company, monthly_quota: cap }
    tenant.key = { ...tenant.key, monthly_quota: cap }
    const gateways = await Promise.all([openGateway(tenant, 7), openGateway(tenant, 5)])
    let accepted = 0
    let failed = 0
    let capped = 0

    async function request(n: number): Promise<number> {
      const events = Array.from({ length: n }, () => sdkEvent())
      const { app } = gateways[randomInt(2)]!
      const backend = randomInt(3) === 0
      const body = JSON.stringify(backend ? { events } : { events, sent_at_ms: Date.now() })
      const headers = backend ? { authorization: `Bearer ${tenant.server_key}` } : signedHeaders(tenant, body)
      const url = backend ? '/s2s/events/bulk' : '/event'
      const answer = await app.inject({ method: 'POST', url, headers, payload: body })
      if (answer.statusCode === 200) accepted += answer.json().accepted
      else if (answer.statusCode === 503) failed += 1
      else if (answer.json().error === 'cap_exceeded') capped += 1
      else throw new Error(answer.body)
      return answer.statusCode
    }

    // Some 8000 events: what is refused for a full disk alone never leaves room for all of them.
    await Promise.all(Array.from({ length: 400 }, () => request(randomInt(1, 40))))
    expect(capped).toBeGreaterThan(0)
    expect(failed).toBeGreaterThan(0)
    expect(accepted).toBeLessThanOrEqual(cap)
    // What the failed requests gave back, and what larger ones left, is still there for small ones.
    while (accepted < cap) {
      const before = accepted
      const status = await request(1)
      if (status === 429) break
      expect(accepted - before).toBeLessThanOrEqual(1)
    }
    expect(accepted).toBe(cap)
    expect(await request(1)).toBe(429)
    await Promise.all(gateways.map(({ close }) => close()))
  })
})
