import type { Click, FilteredReason } from '@tributary/contracts/attribution/click'
import type { FraudFlag, Method, organic } from '@tributary/contracts/attribution/verdict'
import type { Platform } from '@tributary/contracts/envelope'
import { signClickId } from '@tributary/domain/attribute/click-token'
import { deviceHashes } from '@tributary/domain/attribute/device-ids'
import type { Random } from '../fuzz/random.ts'

export const minute_ms = 60_000
export const hour_ms = 60 * minute_ms
export const day_ms = 24 * hour_ms

/** An app of the simulated company, with the secrets that its clicks and installs are made with. */
export interface SimApp {
  app_id: string
  company_id: string
  platform: Platform
  link_secret: Buffer
  salt: Buffer
}

/** Somebody with a phone, at an address that nobody else has. */
export interface Person {
  ip: string
  os_major: number
  model: string
  /** GAID or IDFA. */
  device_id: string
}

/** What the simulator knows of an install, because it made it. */
interface Truth {
  partner: string
  attribution_type: Method | typeof organic
  reinstall: boolean
  /** Flags that the install must have, and no others. */
  flags: FraudFlag[]
  /** Flags for what its maker did, also where a rule lets it pass. */
  guilty: FraudFlag[]
}

export interface SimInstall {
  app: SimApp
  install_uuid: string
  at_ms: number
  person: Person
  source: 'sdk' | 's2s'
  /** How far the clock of the phone is off. */
  skew_ms: number
  props: Record<string, unknown>
  /** Its request never comes twice: a second fact would count in the crowd of its device. */
  once: boolean
  truth: Truth
}

interface SimClick {
  click: Click
  /** Lost on its way: the log never has it. */
  lost: boolean
}

/** All that happened, in no order. */
export interface History {
  clicks: SimClick[]
  installs: SimInstall[]
}

interface ClickOptions {
  campaign?: string
  filtered_reason?: FilteredReason
  /** The link named the id of the device. */
  with_device?: boolean
  lost?: boolean
  ip?: string
}

interface InstallOptions {
  truth?: Partial<Truth>
  props?: Record<string, unknown>
  source?: 'sdk' | 's2s'
  once?: boolean
}

/** What people and partners of a simulation act with; whatever they do is written into `history`. */
export interface Stage {
  history: History
  random: Random
  newPerson(app: SimApp, ip?: string): Person
  click(app: SimApp, partner: string, person: Person, at_ms: number, options?: ClickOptions): Click
  install(app: SimApp, person: Person, at_ms: number, options?: InstallOptions): SimInstall
  /** A moment of the day that is not within two hours of midnight. */
  momentOf(day: number): number
}

export function openStage(random: Random, start_ms: number): Stage {
  const history: History = { clicks: [], installs: [] }
  let people = 0
  return {
    history,
    random,
    momentOf: (day) => start_ms + day * day_ms + 2 * hour_ms + random.below(20 * hour_ms),
    newPerson(app, ip) {
      people += 1
      // A network of one's own, so that no burst comes about by chance.
      const network = `${20 + (people >> 16)}.${(people >> 8) & 255}.${people & 255}`
      return {
        ip: ip ?? `${network}.${1 + random.below(254)}`,
        os_major: app.platform === 'android' ? 11 + random.below(5) : 15 + random.below(4),
        model: random.pick(app.platform === 'android' ? ['Pixel 8', 'SM-S911B', 'M2101K6G'] : ['iPhone']),
        device_id: uuid(random),
      }
    },
    click(app, partner, person, at_ms, options = {}) {
      const click = clickOf(app, partner, person, at_ms, options, uuidV7(random, at_ms))
      history.clicks.push({ click, lost: options.lost ?? false })
      return click
    },
    install(app, person, at_ms, { truth = {}, props = {}, source = 'sdk', once = false } = {}) {
      const install: SimInstall = {
        ...{ app, install_uuid: uuid(random), at_ms, person, source, props, once },
        skew_ms: random.chance(0.2) ? random.below(2 * hour_ms) - hour_ms : 0,
        truth: { partner: 'organic', attribution_type: 'organic', reinstall: false, flags: [], guilty: [], ...truth },
      }
      history.installs.push(install)
      return install
    },
  }
}

function clickOf(
  app: SimApp,
  partner: string,
  person: Person,
  clicked_at_ms: number,
  { campaign = 'autumn', filtered_reason, with_device = false, ip = person.ip }: ClickOptions,
  click_id: string,
): Click {
  const { app_id, company_id, platform, salt } = app
  const device = platform === 'android' ? { gaid: person.device_id } : { idfa: person.device_id }
  return {
    ...{ v: 1, click_id, company_id, app_id, link_id: `lnk_${partner}`, partner, campaign, clicked_at_ms, ip },
    ...{ ad_group: null, creative: null, ext_click_id: `${partner}-${click_id.slice(-6)}`, deep_link: null },
    ...{ sub1: 'a', sub2: null, sub3: null, sub4: null, sub5: null, lookback_hours: null, country: 'DE' },
    ...{ filtered_reason: filtered_reason ?? null, user_agent: `simulated ${platform}`, os: platform },
    ...{ os_major: person.os_major, model: person.model },
    device_hashes: with_device ? deviceHashes(device, salt) : [],
  }
}

/** The referrer that Play gives to an app whose installation began with this click. */
export const referrerOf = (app: SimApp, { click_id, partner, campaign }: Click): string =>
  new URLSearchParams({
    utm_source: partner,
    utm_campaign: campaign ?? '',
    tb_click: signClickId(click_id, app.link_secret),
  }).toString()

const uuid = (random: Random): string =>
  [random.hex(8), random.hex(4), `4${random.hex(3)}`, `a${random.hex(3)}`, random.hex(12)].join('-')

function uuidV7(random: Random, at_ms: number): string {
  const time = at_ms.toString(16).padStart(12, '0')
  return [time.slice(0, 8), time.slice(8), `7${random.hex(3)}`, `8${random.hex(3)}`, random.hex(12)].join('-')
}
