import type { Click } from '@tributary/contracts/attribution/click'
import { signClickId } from '@tributary/domain/attribute/click-token'
import { day_ms, hour_ms, minute_ms, type Person, referrerOf, type SimApp, type Stage } from './history.ts'

/** What one person does on a day; `app` is of the platform that the behaviour is about. */
export type Behaviour = (stage: Stage, app: SimApp, day: number) => void

/** Time that a person takes between a click and the first start of an app. */
const laterOf = ({ random }: Stage): number => minute_ms + random.below(20 * hour_ms)

/** Somebody clicks and goes away: an ad that did not work. */
const idleClicks = (stage: Stage, app: SimApp, partner: string, day: number, count: number): void => {
  for (let n = 0; n < count; n += 1) stage.click(app, partner, stage.newPerson(app), stage.momentOf(day))
}

const byReferrer = (stage: Stage, app: SimApp, person: Person, click: Click, at_ms: number, reinstall = false) =>
  stage.install(app, person, at_ms, {
    props: { install_referrer: referrerOf(app, click) },
    truth: { partner: click.partner, attribution_type: 'install_referrer', reinstall },
  })

/** Android, through the Play referrer. Some come back on the same phone within days: their second install is none. */
export const search: Behaviour = (stage, app, day) => {
  const person = stage.newPerson(app)
  const click = stage.click(app, 'search', person, stage.momentOf(day))
  idleClicks(stage, app, 'search', day, 1)
  const at_ms = click.clicked_at_ms + laterOf(stage)
  byReferrer(stage, app, person, click, at_ms)
  if (!stage.random.chance(0.05)) return
  const again = stage.click(app, 'search', person, at_ms + day_ms + laterOf(stage))
  byReferrer(stage, app, person, again, again.clicked_at_ms + laterOf(stage), true)
}

/** Android: people who saw two ads; the last click brought them. */
export const social: Behaviour = (stage, app, day) => {
  const person = stage.newPerson(app)
  const at_ms = stage.momentOf(day)
  const first = stage.random.chance(0.5) ? 'search' : 'social'
  stage.click(app, first, person, at_ms)
  const last = stage.click(app, 'social', person, at_ms + 1 + stage.random.below(hour_ms))
  byReferrer(stage, app, person, last, last.clicked_at_ms + laterOf(stage))
}

/** Both platforms: the link opens an app that was installed meanwhile, and hands its click id over. */
export const deep: Behaviour = (stage, app, day) => {
  const person = stage.newPerson(app)
  const click = stage.click(app, 'deep', person, stage.momentOf(day))
  idleClicks(stage, app, 'deep', day, 1)
  stage.install(app, person, click.clicked_at_ms + laterOf(stage), {
    props: { click_id: signClickId(click.click_id, app.link_secret) },
    truth: { partner: 'deep', attribution_type: 'click_id' },
  })
}

/** A network that knows the device ids of its audience. */
export const devices: Behaviour = (stage, app, day) => {
  const person = stage.newPerson(app)
  const click = stage.click(app, 'devices', person, stage.momentOf(day), { with_device: true, ip: '198.51.100.7' })
  idleClicks(stage, app, 'devices', day, 1)
  stage.install(app, person, click.clicked_at_ms + laterOf(stage), {
    truth: { partner: 'devices', attribution_type: 'device_id' },
  })
}

/** Android, from web pages: nothing but the address and the phone tell. Two partners at one address tell nothing. */
export const web: Behaviour = (stage, app, day) => {
  const person = stage.newPerson(app)
  const click = stage.click(app, 'web', person, stage.momentOf(day))
  idleClicks(stage, app, 'web', day, 1)
  const ambiguous = stage.random.chance(0.2)
  if (ambiguous) stage.click(app, 'social', person, click.clicked_at_ms + 1 + stage.random.below(minute_ms))
  stage.install(app, person, click.clicked_at_ms + minute_ms + laterOf(stage), {
    truth: ambiguous ? {} : { partner: 'web', attribution_type: 'probabilistic' },
  })
}
