import { hash } from 'node:crypto'
import { postbackPartition } from '@tributary/broker/partition'
import { limits } from '@tributary/contracts/limits'
import type { PostbackProtocol, PostbackReceived } from '@tributary/contracts/postback/received'
import type { Route } from '@tributary/contracts/route'
import { topics } from '@tributary/contracts/topics'
import { type ReadPostback, readPostback } from '@tributary/domain/postback/read-postback'
import { makeDurable } from '@tributary/gateway/durable'
import { wireBody } from '@tributary/gateway/read-wire'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import type { CountersBreaker } from '@tributary/tenancy/quota/counters-breaker'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Counter } from 'prom-client'
import { createBudget } from './budget.ts'
import type { PostbackGatewayDeps } from './deps.ts'
import { aakRoutes, skanRoutes } from './postback-routes.ts'
import { createSpendPostback } from './spend-postback.ts'
import { createStoreOnce, type Stored } from './store-once.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Type that the sender of a postback named, cut to a bounded length. */
    postback_type: string
  }
}

/** Keeps what the door takes away. The hook has to stand before those of the door. */
export function keepContentType(app: FastifyInstance): void {
  app.decorateRequest('postback_type', '')
  app.addHook('onRequest', (request, _reply, done) => {
    request.postback_type = (request.headers['content-type'] ?? '').slice(0, limits.stored_header_chars_max)
    done()
  })
}

/** All receivers. 200 to a POST means that the audit store and the log both hold the postback. */
export function receivePostbacks(app: FastifyInstance, deps: PostbackGatewayDeps, counters: CountersBreaker): void {
  // Steps of docs/rules.md#postbacks: 1. rate of the address, 2. size (bodyLimit).
  const options = { onRequest: createSpendPostback(deps, counters), bodyLimit: limits.postback_body_bytes_max }
  const store = createStore(deps)
  const storeOnce = createStoreOnce(deps, counters)
  const spendBudget = createBudget(deps, counters)
  const count = countPostbacks(deps)

  const receive = (protocol: PostbackProtocol) => async (request: FastifyRequest) => {
    const { wire } = wireBody(request)
    const read = readPostback(protocol, wire) // 3.
    const digest = hash('sha256', Buffer.concat([Buffer.from(`${protocol}\0`), wire]), 'base64url')
    const storeNew = async () => {
      const giveBack = await spendBudget({ protocol, body: read.text, wire_bytes: wire.length }, request) // 5.
      try {
        await store(protocol, read, request) // 6. and 7.
      } catch (error) {
        await giveBack()
        throw error
      }
    }
    count(protocol, await storeOnce(digest, storeNew)) // 4. and 8.
    return { ok: true }
  }
  const add = (protocol: PostbackProtocol, routes: Readonly<Record<string, Route>>) => {
    for (const { method, path } of Object.values(routes)) {
      if (method === 'GET') app.get(path, async () => ({ status: 'ready' }))
      else app.post(path, options, receive(protocol))
    }
  }
  add('skan', skanRoutes)
  add('aak', aakRoutes)
}

/** Makes the function that puts a postback into the audit store, and then on the log. */
const createStore =
  ({ broker, groupCommit, now, partitions }: PostbackGatewayDeps) =>
  async (protocol: PostbackProtocol, { text: body, key }: ReadPostback, request: FastifyRequest) => {
    const received_at_ms = now()
    const facts = { protocol, content_type: request.postback_type, body, received_at_ms }
    const line = JSON.stringify(facts)
    const { audit_key, durable } = groupCommit.append({
      ...{ owner: protocol, received_at_ms, member: Buffer.from(`${line}\n`) },
    })
    request.ingest.audit_key = audit_key
    await makeDurable(broker, durable, () => {
      const received: PostbackReceived = { v: 1, ...facts, audit_key }
      const value = Buffer.from(JSON.stringify(received))
      return [{ topic: topics.postbacksReceived.name, partition: postbackPartition(key, partitions), key, value }]
    })
  }

function countPostbacks({ registry }: PostbackGatewayDeps) {
  const postbacks = sharedMetric(registry, Counter, {
    name: 'tributary_postbacks_total',
    help: 'Postbacks answered with 200: stored, or the same bytes as one stored before.',
    labelNames: ['protocol', 'outcome'],
  })
  return (protocol: PostbackProtocol, outcome: Stored) => postbacks.inc({ protocol, outcome })
}
