import { randomBytes } from 'node:crypto'
import type { Broker } from '@tributary/broker/broker'
import type { Click } from '@tributary/contracts/attribution/click'
import { topics } from '@tributary/contracts/topics'
import type { AddressFacts } from '@tributary/geo/geo'
import type { KeyValue } from '@tributary/key-value/key-value'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import type { TrackingLink } from '@tributary/tenancy/attribution/links'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { type Logger, pino } from 'pino'
import { Registry } from 'prom-client'
import { linkGateway } from '../src/app.ts'

const partitions = 4
const random = (what: string) => `${what}_${randomBytes(6).toString('hex')}`

/** A link of an Android app of a new company. */
export const buildLink = (change: Partial<TrackingLink> = {}): TrackingLink => ({
  ...{ link_id: randomBytes(9).toString('base64url'), company_id: random('company'), app_id: random('app') },
  ...{ enabled: true, company_status: 'active', partner: 'net', campaign: 'summer', ad_group: null, creative: null },
  ...{ fallback_url: null, deep_link: null, countries: null, lookback_hours: null, honeypot: false },
  ...{ platform: 'android', bundle_id: 'com.example.game', store_id: null, provider_token: null },
  ...{ link_secret: randomBytes(32), salt: randomBytes(32) },
  ...change,
})

export const agents = {
  android:
    'Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/UD1A.230803.041; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/119.0.6045.66 Mobile Safari/537.36',
  iphone:
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
  desktop:
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
  preview: 'WhatsApp/2.23.20.0 A',
}

interface Given {
  links: readonly TrackingLink[]
  keyValue?: KeyValue
  trusted_proxies?: readonly string[]
}

/** A gateway over stores in memory, with what a test does to them: a clock, a log that may fail, facts of addresses. */
export async function openGateway({ links, keyValue: given, trusted_proxies = [] }: Given) {
  const clock = { now_ms: Date.UTC(2026, 5, 1, 12) }
  const now = () => clock.now_ms
  const broker = memoryBroker(partitions, now)
  const memory = memoryKeyValue(now)
  const log: Pick<Broker, 'publish'> = { publish: (records) => broker.publish(records) }
  const addresses = new Map<string, Partial<AddressFacts>>()
  const looked_up: string[] = []
  const linkOf = (link_id: string) => links.find((link) => link.link_id === link_id) ?? null
  const logLines: string[] = []
  const logger: Logger = pino({ level: 'info' }, { write: (line: string) => void logLines.push(line) })
  const registry = new Registry()
  const app = createHttpApp({ logger, trusted_proxies })
  await app.register(
    linkGateway({
      links: {
        async find(link_id) {
          if (!looked_up.includes(link_id)) looked_up.push(link_id)
          return linkOf(link_id)
        },
        recall(link_id) {
          if (!looked_up.includes(link_id)) return 'unasked'
          return linkOf(link_id) === null ? 'unknown' : 'known'
        },
      },
      geo: { lookUp: (ip) => ({ country: 'DE', datacenter: false, ...addresses.get(ip) }) },
      broker: { publish: (records) => log.publish(records) },
      keyValue: given ?? memory,
      partitions,
      ...{ now, registry, logger, gateway_id: 'test' },
    }),
  )
  const clicks = (): Click[] =>
    Array.from({ length: partitions }, (_, partition) => broker.records(topics.clicksRecorded.name, partition))
      .flat()
      .map(({ value }) => JSON.parse(value.toString()) as Click)
      .sort((a, b) => (a.click_id < b.click_id ? -1 : 1))
  return {
    ...{ addresses, app, clicks, clock, keyValue: memory, log, logLines, looked_up, registry },
    async click(
      link: Pick<TrackingLink, 'link_id'>,
      { method = 'GET' as 'GET' | 'HEAD', agent = agents.android, query = '', ip = '192.0.2.1', headers = {} } = {},
    ) {
      const answer = await app.inject({
        ...{ method, url: `/l/${link.link_id}${query}`, remoteAddress: ip },
        headers: { 'user-agent': agent, ...headers },
      })
      const { statusCode: status, headers: got } = answer
      return { status, location: got.location ?? null, headers: got, body: answer.body }
    },
    /** How often a reason stands in the metric of clicks. */
    async countClicks(reason: string) {
      const { values } = await registry.getSingleMetric('tributary_clicks_total')!.get()
      return values.find(({ labels }) => labels.filtered_reason === reason)?.value ?? 0
    },
    count: async (name: string) => (await registry.getSingleMetric(name)?.get())?.values[0]?.value ?? 0,
  }
}

/** As many as the door lets in at once. */
const clicks_at_once = 100

/** Clicks many times, many at once: one after the other, each would wait for the log alone. */
export async function clickTimes<Clicked>(times: number, click: (n: number) => Promise<Clicked>): Promise<Clicked[]> {
  const clicked: Clicked[] = []
  while (clicked.length < times) {
    const group = Array.from({ length: Math.min(clicks_at_once, times - clicked.length) })
    clicked.push(...(await Promise.all(group.map((_, n) => click(clicked.length + n)))))
  }
  return clicked
}
