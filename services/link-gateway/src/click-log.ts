import type { Click, StopReason } from '@tributary/contracts/attribution/click'
import { limits } from '@tributary/contracts/limits'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { clickRecord } from '@tributary/tables/attribution/records'
import { Counter } from 'prom-client'
import type { LinkGatewayDeps } from './deps.ts'

export interface ClickLog {
  /**
   * Puts a click on the log. Resolves once it is there, or after `limits.click_wait_ms_max`: nobody waits longer for a
   * redirect. The click then goes on by itself; one that the log does not take is counted and logged.
   */
  record(click: Click): Promise<void>
  /** Counts a click that is not written. */
  countStopped(reason: StopReason): void
  /** Waits for the clicks under way. The log gives each of them up in time. */
  close(): Promise<void>
}

/** Clicks that are published together, each with the function that lets its redirect go. */
type Group = Map<Click, () => void>

/**
 * Clicks on their way to `clicks.recorded.v1`. They wait for each other for `limits.click_gather_ms`: what is published
 * together shares a commit of the log, which costs more CPU than a redirect
 * (docs/decisions/log.md#a-redirect-waits-at-most-250-ms-for-the-log), and a timer for late redirects. A crash loses the clicks whose
 * redirect was sent before they were on the log, and no others.
 */
export function createClickLog({ broker, partitions, registry, logger }: LinkGatewayDeps): ClickLog {
  const metrics = clickMetrics(registry)
  const sending = new Set<Promise<void>>()
  /** The group that takes further clicks. */
  let open: Group | null = null
  let clicks_under_way = 0

  function reportLost(click: Click, err: unknown) {
    metrics.lost.inc()
    const { company_id, app_id, link_id, click_id } = click
    logger.error({ err, company_id, app_id, link_id, click_id }, 'click lost')
  }
  function openGroup(): Group {
    const group: Group = new Map()
    const sent = send(group).finally(() => sending.delete(sent))
    sending.add(sent)
    return group
  }
  async function send(group: Group) {
    await new Promise((resolve) => setTimeout(resolve, limits.click_gather_ms))
    open = null
    const releasing = setTimeout(releaseLate, limits.click_wait_ms_max - limits.click_gather_ms, group)
    await Promise.all(Array.from(group.keys(), (click) => publish(click, group)))
    clearTimeout(releasing)
  }
  function releaseLate(group: Group) {
    metrics.late.inc(group.size)
    for (const release of group.values()) release()
    group.clear()
  }
  /** The log is called for each click, so that a partition that refuses loses its own clicks only. */
  async function publish(click: Click, group: Group) {
    try {
      await broker.publish([clickRecord(click, partitions)])
    } catch (err) {
      reportLost(click, err)
    }
    clicks_under_way -= 1
    group.get(click)?.()
    group.delete(click)
  }
  return {
    async record(click) {
      metrics.clicks.inc({ filtered_reason: click.filtered_reason ?? '' })
      if (clicks_under_way >= limits.clicks_under_way_max)
        return reportLost(click, new Error('too many clicks wait for the log'))
      clicks_under_way += 1
      const { promise, resolve } = Promise.withResolvers<void>()
      open ??= openGroup()
      open.set(click, resolve)
      return promise
    },
    countStopped: (reason) => metrics.clicks.inc({ filtered_reason: reason }),
    async close() {
      await Promise.all(sending)
    },
  }
}

const clickMetrics = (registry: LinkGatewayDeps['registry']) => ({
  clicks: sharedMetric(registry, Counter, {
    name: 'tributary_clicks_total',
    help: 'Clicks on tracking links, unwritten ones too, by the reason why they attribute nothing; empty for the others.',
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
