import { clickRecord } from '@tributary/attribution/records'
import type { Click } from '@tributary/contracts/attribution/click'
import { limits } from '@tributary/contracts/limits'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { Counter } from 'prom-client'
import type { LinkGatewayDeps } from './deps.ts'

export interface ClickLog {
  /**
   * Puts a click on the log. Resolves once it is there, or after `limits.click_wait_ms_max`: nobody waits longer for a
   * redirect. The click then goes on by itself; one that the log does not take is counted and logged.
   */
  record(click: Click): Promise<void>
  /** Waits for the clicks under way. The log gives each of them up in time. */
  close(): Promise<void>
}

/**
 * Clicks on their way to `clicks.recorded.v1`. They wait for each other for `limits.click_gather_ms`: what is published
 * together shares a commit of the log, which costs more CPU than a redirect (docs/adr/0378). A crash loses the clicks whose
 * redirect was sent before they were on the log, and no others.
 */
export function createClickLog({ broker, partitions, registry, logger }: LinkGatewayDeps): ClickLog {
  const metrics = clickMetrics(registry)
  const under_way = new Set<Promise<void>>()
  const gathered = createGathering(limits.click_gather_ms)

  async function publish(click: Click) {
    await gathered()
    await broker.publish([clickRecord(click, partitions)])
  }
  function reportLost(click: Click, err: unknown) {
    metrics.lost.inc()
    const { company_id, app_id, link_id, click_id } = click
    logger.error({ err, company_id, app_id, link_id, click_id }, 'click lost')
  }
  return {
    async record(click) {
      metrics.clicks.inc({ filtered_reason: click.filtered_reason ?? '' })
      if (under_way.size >= limits.clicks_under_way_max)
        return reportLost(click, new Error('too many clicks wait for the log'))
      const publishing = publish(click)
        .catch((err: unknown) => reportLost(click, err))
        .finally(() => under_way.delete(publishing))
      under_way.add(publishing)
      const { promise: late, resolve: giveUp } = Promise.withResolvers<boolean>()
      const patience = setTimeout(giveUp, limits.click_wait_ms_max, true)
      const waited = await Promise.race([publishing, late])
      clearTimeout(patience)
      if (waited === true) metrics.late.inc()
    },
    async close() {
      await Promise.all(under_way)
    },
  }
}

/** Makes the function whose callers go on together: all that call it within `ms` of the first. */
function createGathering(ms: number): () => Promise<void> {
  let group: Promise<void> | null = null
  return () => {
    group ??= new Promise((resolve) => {
      setTimeout(() => {
        group = null
        resolve()
      }, ms)
    })
    return group
  }
}

const clickMetrics = (registry: LinkGatewayDeps['registry']) => ({
  clicks: sharedMetric(registry, Counter, {
    name: 'tributary_clicks_total',
    help: 'Clicks on tracking links by the reason why they attribute nothing; empty for the others.',
    labelNames: ['filtered_reason'],
  }),
  late: sharedMetric(registry, Counter, {
    name: 'tributary_clicks_late_total',
    help: 'Redirects that were sent before their click was on the log.',
  }),
  lost: sharedMetric(registry, Counter, {
    name: 'tributary_clicks_lost_total',
    help: 'Clicks that the log did not take.',
  }),
})
