import { aakPayload, type createAppleTwin } from '../postback/apple-twin.ts'
import type { Addresses } from './addresses.ts'
import { type DemoApp, type DemoEvent, type Doors, inParallel } from './doors.ts'
import { type Campaign, campaigns, countries, organic_installs } from './market.ts'
import { installs, type NewPlayer, type Player, plays } from './people.ts'
import type { Random } from './random.ts'

const day_ms = 86_400_000
/** A part of a day: people click when it begins, and play in it. */
export const step_ms = day_ms / 4

/** Events of one request of SDKs whose addresses do not matter. */
const batch_events = 100

export interface DemoWorld {
  random: Random
  addresses: Addresses
  doors: Doors
  android: DemoApp
  ios: DemoApp
  costs_key: string
  /** Links by campaign and ad group, by platform. */
  links: ReadonlyMap<string, string>
  /** Signs postbacks as Apple does. */
  signAak: ReturnType<typeof createAppleTwin>['signAak']
  ios_store_id: number
  days: number
  players: Player[]
}

export const linkKey = (app: DemoApp, { partner, campaign }: Campaign, ad_group: string): string =>
  [app.platform, partner, campaign, ad_group].join('/')

/** Somebody who tapped an ad and installs in this part of a day. */
interface Tapped {
  app: DemoApp
  campaign: Campaign
  country: string
  ip: string
  referrer: string | null
  idfa: string | null
}

/** The clicks at the beginning of a step; the clock of the service stands there. Gives those who will install. */
export async function tap(world: DemoWorld, since_ms: number, progress: number): Promise<Tapped[]> {
  const { random, addresses, doors, links } = world
  const tapped: Tapped[] = []
  const work: (() => Promise<void>)[] = []
  for (const campaign of campaigns.filter(({ runs }) => progress >= runs[0] && progress <= runs[1])) {
    for (let left = random.count((campaign.clicks * mood(since_ms, progress)) / 4); left > 0; left -= 1) {
      const app = campaign.is_fraud || random.isIn(0.72) ? world.android : world.ios
      const country = random.oneOf(campaign.countries)
      const ip = addresses.of(country)
      const idfa = app.platform === 'ios' && random.isIn(0.6) ? random.uuid().toUpperCase() : null
      const query = {
        click_id: `${campaign.partner}-${random.uuid().slice(0, 13)}`,
        ...{ sub1: random.oneOf(['banner', 'video', 'playable']), sub2: `site_${random.count(6)}` },
        ...(idfa !== null && { idfa }),
      }
      const link_id = links.get(linkKey(app, campaign, random.oneOf(campaign.ad_groups)))!
      const converts = random.isIn(campaign.conversion)
      work.push(async () => {
        const referrer = await doors.tap(app, link_id, ip, query)
        if (converts) tapped.push({ app, campaign, country, ip, referrer, idfa })
      })
    }
  }
  await inParallel(work)
  // The order of answers is not that of the seed.
  return tapped.toSorted((a, b) => (a.ip < b.ip ? -1 : 1))
}

/** More on weekends, and more each week. */
const mood = (at_ms: number, progress: number): number =>
  (0.75 + 0.6 * progress) * ([0, 6].includes(new Date(at_ms).getUTCDay()) ? 1.25 : 0.95)

/** The events since the clicks; the clock of the service stands at `until_ms`. */
export async function play(
  world: DemoWorld,
  tapped: readonly Tapped[],
  since_ms: number,
  until_ms: number,
  progress: number,
) {
  const { random, addresses, doors, players } = world
  const newcomers: NewPlayer[] = tapped.map((one) => {
    const wait_ms = one.campaign.is_fraud && random.isIn(0.4) ? 4_000 : 60_000 + random.exponential(step_ms / 12)
    return installs(random, addresses, { ...one, at_ms: Math.round(Math.min(since_ms + wait_ms, until_ms - 60_000)) })
  })
  for (const app of [world.android, world.ios])
    for (
      let left = random.count((organic_installs[app.platform] * mood(since_ms, progress)) / 4);
      left > 0;
      left -= 1
    ) {
      const { country } = random.byWeight(countries)
      const at_ms = Math.round(since_ms + random.share() * (step_ms - 120_000))
      newcomers.push(
        installs(random, addresses, { app, country, at_ms, ip: null, referrer: null, idfa: null, campaign: null }),
      )
    }
  const work: (() => Promise<void>)[] = []
  const purchases = new Map<DemoApp, DemoEvent[]>([world.android, world.ios].map((app) => [app, []]))
  for (const { player, ip, install } of newcomers) {
    const first = plays(random, player, since_ms, until_ms, true)
    work.push(() => doors.batch(player.app, ip, [install, ...first.events]))
    purchases.get(player.app)!.push(...first.purchases)
  }
  const events = new Map<DemoApp, DemoEvent[]>([world.android, world.ios].map((app) => [app, []]))
  for (const player of players) {
    const done = plays(random, player, since_ms, until_ms, false)
    events.get(player.app)!.push(...done.events)
    purchases.get(player.app)!.push(...done.purchases)
  }
  for (const [app, all] of events)
    for (let at = 0; at < all.length; at += batch_events)
      work.push(() => doors.batch(app, addresses.of('US'), all.slice(at, at + batch_events)))
  for (const [app, all] of purchases) if (all.length > 0) work.push(() => doors.backend(app, all))
  for (let left = random.count(9 * mood(since_ms, progress)); left > 0; left -= 1) work.push(postbackOf(world))
  await inParallel(work)
  players.push(...newcomers.map(({ player }) => player))
  return newcomers.length
}

/** Postbacks of Apple's devices about installs after ads. */
function postbackOf({ random, doors, signAak, ios_store_id }: DemoWorld): () => Promise<void> {
  const won = random.isIn(0.9)
  const token = signAak(
    aakPayload({
      'postback-identifier': random.uuid().toUpperCase(),
      'advertised-item-identifier': ios_store_id,
      'ad-network-identifier': random.oneOf(['northlight', 'brightwave', 'pinecone']).concat('.adattributionkit'),
      'source-identifier': String(1000 + random.count(12)),
      'did-win': won,
      'conversion-type': random.isIn(0.85) ? 'download' : 'redownload',
    }),
  )
  const unsigned = {
    ...(won && { 'conversion-value': Math.min(63, random.count(9)) }),
    'country-code': random.byWeight(countries).country,
  }
  return () => doors.postback(token, unsigned)
}

/** Costs of the ads of a day, uploaded the next morning. */
export async function payFor(world: DemoWorld, day_start_ms: number, progress: number): Promise<void> {
  const { random, doors, costs_key } = world
  const day = new Date(day_start_ms).toISOString().slice(0, 10)
  const costs = campaigns
    .filter(({ runs }) => progress >= runs[0] && progress <= runs[1])
    .flatMap(({ partner, campaign, clicks, conversion, cpi, currency, countries: where }) =>
      where.map((country) => {
        const installs_of_country = (clicks * conversion * mood(day_start_ms, progress)) / where.length
        const cost = Math.round(installs_of_country * cpi * (0.85 + random.share() * 0.3) * 100) / 100
        const seen = Math.round((clicks / where.length) * 1.08)
        return { day, partner, campaign, country, cost, currency, clicks: seen, impressions: seen * 45 }
      }),
    )
  await doors.costs(costs_key, costs)
}
