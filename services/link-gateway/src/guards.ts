import { CodedError, rateLimited } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { addressBlock, addressNetwork } from '@tributary/contracts/networks'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { countingBreaker } from '@tributary/tenancy/quota/counters-breaker'
import { Counter } from 'prom-client'
import type { LinkGatewayDeps } from './deps.ts'

/** What keeps a visitor away from the links of a company, by address and over all gateways. */
export interface Guards {
  /** Blocks the address for `limits.honeypot_block_ms` from its first hit on. */
  block(company_id: string, ip: string): Promise<void>
  /** Throws `address_blocked`. */
  refuseBlocked(company_id: string, ip: string): Promise<void>
  /** Uses up one click of the network. Throws `rate_limited`. */
  spendClick(company_id: string, ip: string): Promise<void>
  /** Whether one more filtered click of the network is recorded. They don't use up the clicks of people. */
  takesFiltered(company_id: string, ip: string): Promise<boolean>
}

/** While the counters are away nobody is blocked and nothing is limited (docs/rules.md#counters-that-are-away). */
export function createGuards({ keyValue, now, registry }: LinkGatewayDeps): Guards {
  const missed = sharedMetric(registry, Counter, {
    name: 'tributary_click_guards_missed_total',
    help: 'Checks of a click that did not take place, because the counters were away.',
  })
  const step = countingBreaker(now, missed)
  const blockKey = (company_id: string, ip: string) => `link-block:${company_id}:${addressBlock(ip)}`
  const hit = (what: string, company_id: string, ip: string) =>
    step(() =>
      keyValue.hitWindow(`${what}:${company_id}:${addressNetwork(ip)}`, limits.clicks_max, limits.clicks_window_ms),
    )

  return {
    async block(company_id, ip) {
      await step(() => keyValue.addCapped(blockKey(company_id, ip), 1, null, limits.honeypot_block_ms))
    },
    async refuseBlocked(company_id, ip) {
      const blocked = await step(() => keyValue.get(blockKey(company_id, ip), limits.honeypot_block_ms))
      if (blocked !== null && blocked > 0) throw new CodedError('address_blocked')
    },
    async spendClick(company_id, ip) {
      const spent = await hit('clicks', company_id, ip)
      if (spent === null || spent.allowed) return
      throw rateLimited(spent.retry_after_ms)
    },
    async takesFiltered(company_id, ip) {
      return (await hit('filtered-clicks', company_id, ip))?.allowed !== false
    },
  }
}
