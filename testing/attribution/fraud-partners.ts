import type { FraudFlag } from '@tributary/contracts/attribution/verdict'
import type { Behaviour } from './clean-partners.ts'
import { hour_ms, minute_ms, referrerOf, type SimApp, type Stage } from './history.ts'

/** First byte of the addresses of data centres in the simulation. */
const datacenter_byte = 203

export const isDatacenter = (ip: string): boolean => ip.startsWith(`${datacenter_byte}.`)

/** The same as a table of addresses (`TRIBUTARY_GEO_DIR`). */
export const datacenterTable = () => ({
  starts: new Uint32Array([0, datacenter_byte * 2 ** 24, (datacenter_byte + 1) * 2 ** 24]),
  values: new Uint16Array([0, 1, 0]),
})

/** Clicks of one day for the devices of people who never saw an ad. A few install anyway: those it steals. */
export function flood(stage: Stage, app: SimApp, day: number, clicks: number): void {
  for (let n = 0; n < clicks; n += 1) {
    const victim = stage.newPerson(app)
    const at_ms = stage.momentOf(day)
    stage.click(app, 'flood', victim, at_ms, { with_device: true, ip: `100.64.${n & 255}.${(n >> 8) & 255}` })
    if (!stage.random.chance(0.02)) continue
    stage.install(app, victim, at_ms + minute_ms + stage.random.below(20 * hour_ms), {
      truth: {
        ...{ partner: 'flood', attribution_type: 'device_id' },
        ...{ flags: ['click_flooding'], guilty: ['click_flooding'] },
      },
    })
  }
}

/** Malware that sees an installation begin and clicks at once; Play's server times, or the haste, give it away. */
export const inject: Behaviour = (stage, app, day) => {
  const person = stage.newPerson(app)
  const at_ms = stage.momentOf(day)
  const fast = stage.random.chance(0.7)
  const confirmed = !fast || stage.random.chance(0.7)
  const click = stage.click(app, 'inject', person, at_ms - (fast ? 3000 : 15_000) - stage.random.below(5000))
  const begin_s = Math.floor(click.clicked_at_ms / 1000) - 5
  const flags: FraudFlag[] = [
    ...(confirmed ? (['click_after_install'] as const) : []),
    ...(fast ? (['fast_install'] as const) : []),
  ]
  stage.install(app, person, at_ms, {
    props: {
      install_referrer: referrerOf(app, click),
      ...(confirmed && { referrer_click_server_s: begin_s + 5, install_begin_server_s: begin_s }),
    },
    truth: { partner: 'inject', attribution_type: 'install_referrer', flags, guilty: flags },
  })
}

/** Crawlers whose clicks the gateway filtered, and emulators in a data centre that go on from a click elsewhere. */
export const bots: Behaviour = (stage, app, day) => {
  for (const filtered_reason of ['bot', 'datacenter', 'desktop'] as const)
    stage.click(app, 'bots', stage.newPerson(app), stage.momentOf(day), { filtered_reason, with_device: true })
  const at_ms = stage.momentOf(day)
  const emulator = stage.newPerson(app, `203.0.${stage.random.below(250)}.${stage.random.below(250)}`)
  const click = stage.click(app, 'bots', emulator, at_ms, { ip: stage.newPerson(app).ip })
  stage.install(app, emulator, at_ms + minute_ms, {
    props: { install_referrer: referrerOf(app, click) },
    truth: {
      ...{ partner: 'bots', attribution_type: 'install_referrer' },
      ...{ flags: ['datacenter_ip'], guilty: ['datacenter_ip'] },
    },
  })
}

/** Scanners that follow hidden links. Their installs of the day after are theirs; a day later the address may be another's. */
export const trap: Behaviour = (stage, app, day) => {
  const scanner = stage.newPerson(app)
  const click = stage.click(app, 'trap', scanner, stage.momentOf(day))
  const hit_ms = click.clicked_at_ms + minute_ms
  stage.click(app, 'trap', scanner, hit_ms, { filtered_reason: 'honeypot' })
  const soon = stage.random.chance(0.7)
  const after_ms = soon ? minute_ms + stage.random.below(23 * hour_ms) : 24 * hour_ms + minute_ms
  const flags: FraudFlag[] = soon ? ['blocked_ip'] : []
  stage.install(app, scanner, hit_ms + after_ms, {
    props: { install_referrer: referrerOf(app, click) },
    truth: { partner: 'trap', attribution_type: 'install_referrer', flags, guilty: flags },
  })
}

export const clone_installs = 60
export const clones_unflagged = 50

/** Emulators that are copies of one phone: each is a reinstall of the first, and soon the device is crowded. */
export function clones(stage: Stage, app: SimApp, day: number): void {
  const { device_id } = stage.newPerson(app)
  const start_ms = stage.momentOf(day)
  for (let n = 0; n < clone_installs; n += 1) {
    stage.install(app, { ...stage.newPerson(app), device_id }, start_ms + n * minute_ms, {
      once: true,
      truth: {
        ...{ reinstall: n > 0, guilty: ['crowded_device'] },
        flags: n < clones_unflagged ? [] : ['crowded_device'],
      },
    })
  }
}

export const farm_installs = 60
const unflagged_installs = 20

/** A room full of phones behind one network, within an hour. The first twenty may be a school. */
export function farm(stage: Stage, app: SimApp, day: number, room: number): void {
  const start_ms = stage.momentOf(day)
  for (let n = 0; n < farm_installs; n += 1) {
    const phone = stage.newPerson(app, `90.${room >> 8}.${room & 255}.${n + 1}`)
    const at_ms = start_ms + n * 50_000
    const click = stage.click(app, 'farm', phone, at_ms - 5 * minute_ms)
    stage.install(app, phone, at_ms, {
      props: { install_referrer: referrerOf(app, click) },
      truth: {
        ...{ partner: 'farm', attribution_type: 'install_referrer', guilty: ['install_burst'] },
        flags: n < unflagged_installs ? [] : ['install_burst'],
      },
    })
  }
}
