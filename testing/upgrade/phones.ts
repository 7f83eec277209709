import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type SdkKeys, startApp, tapLink } from '../attribution/phone.ts'

export interface PhonesOptions {
  keys: SdkKeys
  link_id: string
  /** Addresses of the processes, used in rotation; they may change meanwhile. */
  gateways: readonly string[]
  link_gateways: readonly string[]
}

/** People who tap a tracking link and install the app. */
export interface Phones {
  /** Installs whose `app_install` was answered 200. */
  installs: string[]
  /** Resolves when the last of them has installed. */
  stop(): Promise<void>
}

const every_ms = 150
const again_ms = 100
const patience_ms = 180_000
/** Networks of documents, which no table knows: a datacenter's clicks attribute nothing. */
const networks = ['192.0.2', '198.51.100', '203.0.113']

/** Starts people one after the other, who try again until the link led to the store and the event was answered 200. */
export function startPhones({ keys, link_id, gateways, link_gateways }: PhonesOptions): Phones {
  const installs: string[] = []
  let stopping = false
  const one = async (n: number) => {
    const install_uuid = randomUUID()
    const ip = `${networks[n % networks.length]}.${n % 250}`
    const link = () => `${link_gateways[n % link_gateways.length]}/l/${link_id}`
    const install_referrer = await untilGiven(async () => (await tapLink(link(), ip)).referrer)
    const install = { install_uuid, ip, props: { install_referrer } }
    await untilGiven(async () => (await startApp(gateways[n % gateways.length]!, keys, install)) === 200 || null)
    installs.push(install_uuid)
  }
  const running = (async () => {
    for (let n = 0; !stopping; n += 1) {
      await one(n)
      await pause(every_ms)
    }
  })()
  running.catch(() => {}) // `stop` throws it
  return {
    installs,
    async stop() {
      stopping = true
      await running
    },
  }
}

async function untilGiven<T>(act: () => Promise<T | null>): Promise<T> {
  for (const deadline = Date.now() + patience_ms; ; await pause(again_ms)) {
    const given = await act().catch(() => null)
    if (given !== null) return given
    if (Date.now() > deadline) throw new Error('a phone was not answered in time')
  }
}
