import type { Addresses } from './addresses.ts'
import type { DemoApp, DemoEvent } from './doors.ts'
import { type Campaign, currencyOf, devices, products, retained } from './market.ts'
import type { Random } from './random.ts'

const [hour_ms, day_ms] = [3_600_000, 86_400_000]

/** Somebody who installed. */
export interface Player {
  app: DemoApp
  install_uuid: string
  user_id: string
  installed_at_ms: number
  country: string
  quality: number
  /** Chance to buy something on a day of play. */
  buys: number
  level: number
  /** Last day of play that is planned. */
  ends_after_days: number
}

export interface NewPlayer {
  player: Player
  ip: string
  install: DemoEvent
}

/** The first start of the app. `referrer`: what the store handed over. */
export function installs(
  random: Random,
  addresses: Addresses,
  given: {
    app: DemoApp
    country: string
    at_ms: number
    ip: string | null
    referrer: string | null
    idfa: string | null
    campaign: Campaign | null
  },
): NewPlayer {
  const { app, country, at_ms, campaign, referrer, idfa } = given
  const ip = given.ip ?? (campaign?.is_fraud && random.isIn(0.25) ? addresses.ofDatacenter() : addresses.of(country))
  const quality = (campaign?.quality ?? 1.15) * (0.6 + random.share() * 0.8)
  const install_uuid = random.uuid()
  const { model, os_version } = random.byWeight(devices[app.platform])
  const ids =
    app.platform === 'android' ? { gaid: random.uuid() } : { idfv: random.uuid(), ...(idfa !== null && { idfa }) }
  const player: Player = {
    ...{ app, install_uuid, user_id: `player-${install_uuid.slice(0, 8)}`, installed_at_ms: at_ms, country, quality },
    ...{ level: 0, buys: 0.028 * quality ** 1.4 * (random.isIn(0.2) ? 4 : 1), ends_after_days: 90 },
  }
  const install: DemoEvent = {
    ...{ event_id: 'install', event_name: 'app_install', install_uuid, event_ts_ms: at_ms },
    device: { os: app.platform, os_version, model, ...ids },
    ...(referrer !== null && { props: { install_referrer: referrer } }),
  }
  return { player, ip, install }
}

/** Events of a player between two times, and purchases that the backend verified. */
export function plays(random: Random, player: Player, since_ms: number, until_ms: number, is_first: boolean) {
  const none = { events: [] as DemoEvent[], purchases: [] as DemoEvent[] }
  const age_days = (since_ms - player.installed_at_ms) / day_ms
  // Each day has four parts, and one of them is when somebody plays.
  if (!is_first && !random.isIn(retained(Math.max(1, age_days), player.quality) / 4)) return none
  const { install_uuid, user_id, app } = player
  const latest_ms = until_ms - 1000
  let at_ms = is_first ? player.installed_at_ms + 20_000 : since_ms + random.share() * (until_ms - since_ms - hour_ms)
  const next = (seconds: number) => {
    at_ms = Math.min(latest_ms, Math.round(at_ms + random.exponential(seconds * 1000)))
    return at_ms
  }
  const eventOf = (event_name: string, more: object = {}): DemoEvent => ({
    ...{ event_id: random.uuid(), event_name, install_uuid, user_id, event_ts_ms: next(60), ...more },
  })
  const events = [eventOf('session_start')]
  if (is_first) events.push(eventOf('tutorial_complete'))
  for (let levels = random.count(1.6 * player.quality); levels > 0; levels -= 1) {
    player.level += 1
    events.push(
      eventOf('level_complete', { props: { level: player.level, stars: 1 + Math.floor(random.share() * 3) } }),
    )
  }
  if (random.isIn(0.5)) events.push(eventOf('ad_view', { props: { placement: random.oneOf(['rewarded', 'banner']) } }))
  if (!random.isIn(player.buys)) return { events, purchases: [] }
  const { product_id, price } = random.byWeight(products)
  const transaction_id = `${app.platform === 'android' ? 'GPA' : '4100'}.${random.uuid().slice(0, 13)}`
  const money = { revenue: price, currency: currencyOf(player.country), product_id, transaction_id }
  const purchases = [eventOf('purchase', money)]
  if (random.isIn(0.03))
    purchases.push(eventOf('purchase_refunded', { ...money, transaction_id: `${transaction_id}-r` }))
  return { events, purchases }
}
