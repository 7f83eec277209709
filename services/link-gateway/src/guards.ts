import { limits } from '@tributary/contracts/limits'
import { addressBlock, addressNetwork } from '@tributary/contracts/networks'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { countingBreaker } from '@tributary/tenancy/quota/counters-breaker'
import { Counter } from 'prom-client'
import type { LinkGatewayDeps } from './deps.ts'

/** What keeps the clicks of a visitor from being counted for a company, by address and over all gateways. */
export interface Guards {
  /** Blocks the address for `limits.honeypot_block_ms` from now on. */
  block(company_id: string, ip: string): Promise<void>
  isBlocked(company_id: string, ip: string): Promise<boolean>
  /** Uses up one click of the network; false when it has none left. */
  takesClick(company_id: string, ip: string): Promise<boolean>
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
      const key = blockKey(company_id, ip)
      await step(() => keyValue.remove(key)) // the time of a counter runs from its first addition
      await step(() => keyValue.addCapped(key, 1, null, limits.honeypot_block_ms))
    },
    async isBlocked(company_id, ip) {
      const blocked = await step(() => keyValue.get(blockKey(company_id, ip), limits.honeypot_block_ms))
      return (blocked ?? 0) > 0
    },
    async takesClick(company_id, ip) {
      return (await hit('clicks', company_id, ip))?.allowed !== false
    },
    async takesFiltered(company_id, ip) {
      return (await hit('filtered-clicks', company_id, ip))?.allowed !== false
    },
  }
}
