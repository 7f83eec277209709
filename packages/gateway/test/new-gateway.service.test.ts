import { randomUUID } from 'node:crypto'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { createKeyRate } from '@tributary/tenancy/quota/key-rate'
import { buildTenant, memoryCredentials } from '@tributary/testing/builders'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import { wireBody } from '../src/bodies/read-wire.ts'
import { makeDurable } from '../src/durable.ts'
import { openDoor } from '../src/open-door.ts'
import { requireServerKey } from '../src/server-key.ts'

/** A new gateway: one route over the door and stores in memory. `beforeAudit` holds its requests in flight. */
async function openGateway({
  requests_max = 8,
  registry = new Registry(),
  beforeAudit = async () => {},
  ...door
}: {
  requests_max?: number
  registry?: Registry
  beforeAudit?: () => Promise<void>
  strangers?: string
} = {}) {
  const { now } = Date
  const logger = pino({ level: 'silent' })
  const tenant = buildTenant('android')
  const credentials = memoryCredentials([tenant])
  const keyRate = createKeyRate({ keyValue: memoryKeyValue(now), breaker: (step) => step(), now, registry })
  const audit = memoryAuditStore()
  const broker = memoryBroker(1, now)

  /** All that a new gateway writes itself. */
  function notesRoute(app: FastifyInstance) {
    const options = { bodyLimit: 10, onRequest: requireServerKey({ credentials, keyRate }) }
    app.post('/notes', options, async (request) => {
      await beforeAudit()
      const { wire } = wireBody(request)
      const auditing = audit.putOnce(`${request.serverKey!.app_id}/notes/${randomUUID()}`, wire)
      await makeDurable(broker, auditing, () => [{ topic: 'notes', partition: 0, key: null, value: wire }])
      return { ok: true }
    })
  }

  const app = createHttpApp({ logger })
  await app.register(async (gateway) => {
    const in_flight = { requests_max, body_bytes_max: 1024 }
    openDoor(gateway, { registry, logger, now, gateway_id: 'notes', in_flight, ...door })
    notesRoute(gateway)
  })
  onTestFinished(() => app.close())
  async function post(payload = 'note', authorization = `Bearer ${tenant.server_key}`, remoteAddress = '127.0.0.1') {
    const answer = await app.inject({
      ...{ method: 'POST', url: '/notes', payload, headers: { authorization } },
      remoteAddress,
    })
    const { error } = answer.json()
    return [answer.statusCode, error ?? 'ok', answer.headers['retry-after'] ?? null]
  }
  return { audit, broker, post, registry, tenant }
}

test('what a new gateway answers with 200 is in the audit store and in the log', async () => {
  const { audit, broker, post, tenant } = await openGateway()
  expect(await post('hello')).toEqual([200, 'ok', null])
  const [[key, object]] = [...audit.objects] as [[string, Buffer]]
  expect([key.split('/')[0], object.toString()]).toEqual([tenant.app.app_id, 'hello'])
  expect(broker.records('notes', 0).map(({ value }) => value.toString())).toEqual(['hello'])
})

test('nothing is published without its audit object, and both failures say when to come back', async () => {
  const { audit, broker, post } = await openGateway()
  audit.fault = new Error('the bucket is away')
  expect(await post()).toEqual([503, 'audit_write_failed', '1'])
  expect(broker.records('notes', 0)).toEqual([])
  audit.fault = null
  broker.publish = async () => Promise.reject(new Error('the log is away'))
  expect(await post()).toEqual([503, 'unavailable', '1'])
})

test('only a server key with the scope passes, and no company that is suspended', async () => {
  const { post, tenant } = await openGateway()
  expect(await post('', 'Basic x')).toEqual([401, 'missing_bearer_token', null])
  expect(await post('', 'Bearer srv_unknown')).toEqual([401, 'unknown_or_revoked_key', null])
  tenant.key.scopes = ['reports:read']
  expect(await post()).toEqual([403, 'scope_missing', null])
  tenant.key.company_status = 'suspended'
  expect(await post()).toEqual([401, 'company_suspended', null])
})

test('bodies and requests in flight are bounded', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const { post } = await openGateway({ requests_max: 2, beforeAudit: () => held })
  expect(await post('x'.repeat(11))).toEqual([413, 'body_too_large', null])
  const first = post()
  await expect.poll(() => post()).toEqual([503, 'unavailable', '1'])
  release()
  expect(await first).toEqual([200, 'ok', null])
  expect(await post()).toEqual([200, 'ok', null])
})

test('two gateways of one process count their requests in the same metrics', async () => {
  const { post, registry } = await openGateway()
  const other = await openGateway({ registry })
  await post()
  await other.post()
  await other.post('', 'none')
  const metric = await registry.getSingleMetric('tributary_ingest_requests_total')?.get()
  expect(metric?.values.map(({ labels, value }) => [labels.route, labels.code, value])).toEqual([
    ['/notes', 'ok', 2],
    ['/notes', 'missing_bearer_token', 1],
  ])
  const inFlight = await registry.getSingleMetric('tributary_ingest_requests_in_flight')?.get()
  expect(inFlight?.values.map(({ value }) => value)).toEqual([0])
})

test('bodies of strangers stay in the part of the memory for what nobody signed', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const registry = new Registry()
  const { post } = await openGateway({ requests_max: 1000, registry, beforeAudit: () => held, strangers: 'postbacks' })
  const answered: unknown[] = []
  const flood = Array.from({ length: 60 }, async (_, at) => {
    answered.push(await post('0123456789', undefined, `192.0.2.${at}`))
  })
  await expect.poll(() => answered).toEqual(Array.from({ length: 35 }, () => [503, 'unavailable', '1']))
  const bytes = await registry.getSingleMetric('tributary_ingest_body_bytes_in_flight')?.get()
  expect(bytes?.values[0]?.value).toBe(250) // of 1024 / 4
  release()
  await Promise.all(flood)
  expect(answered.slice(35)).toEqual(Array.from({ length: 25 }, () => [200, 'ok', null]))
})

test('two gateways of one process share their limits, and one with a share leaves room for the other', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const registry = new Registry()
  const beforeAudit = () => held
  const links = await openGateway({ requests_max: 6, registry, beforeAudit, strangers: 'links' })
  const events = await openGateway({ requests_max: 6, registry })
  const flood = Array.from({ length: 6 }, (_, at) => links.post('x', undefined, `192.0.2.${at}`))
  const refused = await Promise.race(flood)
  expect(refused).toEqual([503, 'unavailable', '1'])
  await expect
    .poll(async () => (await registry.getSingleMetric('tributary_ingest_requests_in_flight')?.get())?.values[0]?.value)
    .toBe(3)
  expect(await events.post('x', undefined, '198.51.100.1')).toEqual([200, 'ok', null])
  release()
  const answers = await Promise.all(flood)
  expect(answers.filter(([status]) => status === 200)).toHaveLength(3)
})
