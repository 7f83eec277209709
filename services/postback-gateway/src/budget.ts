import { hash } from 'node:crypto'
import { rateLimited } from '@tributary/contracts/errors'
import { day_ms, limits } from '@tributary/contracts/limits'
import { addressBlock } from '@tributary/contracts/networks'
import type { PostbackProtocol } from '@tributary/contracts/postback/received'
import { judgePostback } from '@tributary/domain/postback/judge'
import { utcDay } from '@tributary/domain/utc-day'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import type { CountersBreaker } from '@tributary/tenancy/quota/counters-breaker'
import type { FastifyRequest } from 'fastify'
import { Counter } from 'prom-client'
import type { PostbackGatewayDeps } from './deps.ts'

type Deps = Pick<PostbackGatewayDeps, 'keyValue' | 'now' | 'postbackKeys' | 'registry'>

/** A postback that is about to be stored. */
interface NewPostback {
  protocol: PostbackProtocol
  body: string
  wire_bytes: number
}

/** Gives back what a postback used up. Never rejects. */
type GiveBack = () => Promise<unknown>

/**
 * Makes the function that uses up the budgets of a day (docs/rules.md#budgets-of-postbacks), for all gateways together. Beyond one
 * it verifies the postback as postback-writer does, and throws `rate_limited` unless a key proves it. While the counters are away
 * there is no budget. It returns a function for a postback that could not be stored: its device sends it again.
 */
export function createBudget({ keyValue, now, postbackKeys, registry }: Deps, counters: CountersBreaker) {
  const refused = sharedMetric(registry, Counter, {
    name: 'tributary_postbacks_refused_total',
    help: 'Postbacks answered 429 because a budget of the day was used up and no key proved them, or proved them too often.',
    labelNames: ['protocol', 'budget'],
  })
  const add = async (key: string, n: number, cap: number) =>
    (await keyValue.addCapped(key, n, cap, limits.postback_budget_kept_ms)).added

  const giveBack =
    (n: number, ...keys: string[]): GiveBack =>
    () =>
      counters(() => Promise.all(keys.map((key) => add(key, -n, 0))))

  /** Uses up both budgets, or neither: `lacking` is the one that has too few bytes left. */
  const spend = (day: string, client_ip: string, bytes: number) =>
    counters(async () => {
      const [ofAddress, ofAll] = [addressBudgetKey(day, addressBlock(client_ip)), `postback-bytes:${day}`]
      if (!(await add(ofAddress, bytes, limits.postback_address_day_bytes_max))) return { lacking: 'address' as const }
      if (await add(ofAll, bytes, limits.postbacks_day_bytes_max))
        return { lacking: null, giveBack: giveBack(bytes, ofAddress, ofAll) }
      await add(ofAddress, -bytes, 0)
      return { lacking: 'all' as const }
    })

  /** Uses up a copy beyond a budget. Null unless a key signed it, and few postbacks of the same content were stored so. */
  async function spendCopy({ protocol, body }: NewPostback, day: string): Promise<GiveBack | null> {
    const { verdict, network, postback_id, sequence_index } = judgePostback({ protocol, body }, postbackKeys.current())
    if (verdict !== 'valid') return null
    const content = hash('sha256', JSON.stringify([protocol, network, postback_id, sequence_index]), 'base64url')
    const key = `postback-proven:${day}:${content}`
    const added = await counters(() => add(key, 1, limits.postback_proven_copies_max))
    if (added === null) return nothing
    return added ? giveBack(1, key) : null
  }

  return async (postback: NewPostback, { client_ip, postback_type }: FastifyRequest): Promise<GiveBack> => {
    const at_ms = now()
    const day = utcDay(at_ms)
    const bytes = postback.wire_bytes + Buffer.byteLength(postback_type) + limits.postback_record_bytes
    const spent = await spend(day, client_ip, bytes)
    if (spent === null) return nothing
    if (spent.lacking === null) return spent.giveBack
    const copy = await spendCopy(postback, day)
    if (copy !== null) return copy
    refused.inc({ protocol: postback.protocol, budget: spent.lacking })
    throw rateLimited(day_ms - (at_ms % day_ms))
  }
}

const nothing: GiveBack = async () => {}

/**
 * The counter of an address on a day, by a short hash: many addresses share one. A genuine postback passes beyond any budget, so
 * that nobody is shut out by a stranger with the same counter.
 */
export const addressBudgetKey = (day: string, block: string): string =>
  `postback-bytes:${day}:${Number.parseInt(hash('sha256', block).slice(0, 8), 16) % limits.postback_address_counters_max}`
