import { organic as organicName } from '@tributary/contracts/attribution/verdict'
import { signClickId } from '@tributary/domain/attribute/click-token'
import type { Behaviour } from './clean-partners.ts'
import { day_ms, hour_ms, minute_ms, referrerOf } from './history.ts'

/** Nobody sent them. Some come back on the same phone, and some are reported by a backend in a data centre. */
export const strangers: Behaviour = (stage, app, day) => {
  const person = stage.newPerson(app)
  const at_ms = stage.momentOf(day)
  const source = stage.random.chance(0.1) ? 's2s' : 'sdk'
  stage.install(app, person, at_ms, { source })
  if (!stage.random.chance(0.05)) return
  stage.install(app, person, at_ms + hour_ms + stage.random.below(day_ms), { truth: { reinstall: true } })
}

/** Seven days after the click to the millisecond, and later: no longer the partner's. A millisecond earlier it is. */
export const latecomers: Behaviour = (stage, app, day) => {
  const person = stage.newPerson(app)
  const click = stage.click(app, 'search', person, stage.momentOf(day) - 8 * day_ms)
  const after_ms = stage.random.pick([7 * day_ms - 1, 7 * day_ms, 7 * day_ms + stage.random.below(day_ms)])
  const late = after_ms >= 7 * day_ms
  stage.install(app, person, click.clicked_at_ms + after_ms, {
    props: { install_referrer: referrerOf(app, click) },
    truth: late ? {} : { partner: 'search', attribution_type: 'install_referrer' },
  })
}

/** Their click never reached the log: after a day they count as organic. */
export const unheard: Behaviour = (stage, app, day) => {
  const person = stage.newPerson(app)
  const click = stage.click(app, 'search', person, stage.momentOf(day), { lost: true })
  stage.install(app, person, click.clicked_at_ms + minute_ms, {
    props: { install_referrer: referrerOf(app, click) },
  })
}

/** Two phones tell the same click: it belongs to the one that installed first. */
export const sharers: Behaviour = (stage, app, day) => {
  const [one, other] = [stage.newPerson(app), stage.newPerson(app)]
  const click = stage.click(app, 'search', one, stage.momentOf(day))
  const props = { install_referrer: referrerOf(app, click) }
  const truth = { partner: 'search', attribution_type: 'install_referrer' as const }
  stage.install(app, one, click.clicked_at_ms + 30 * minute_ms, { props, truth })
  stage.install(app, other, click.clicked_at_ms + 30 * minute_ms + 1 + stage.random.below(hour_ms), { props })
}

/** They make click ids up, or sign real ones wrongly. */
export const forgers: Behaviour = (stage, app, day) => {
  const person = stage.newPerson(app)
  const click = stage.click(app, 'search', person, stage.momentOf(day), { with_device: true })
  const wrong = `${signClickId(click.click_id, app.link_secret).slice(0, -12)}${stage.random.hex(12)}`
  const props = stage.random.chance(0.5)
    ? { install_referrer: new URLSearchParams({ utm_source: 'search', tb_click: wrong }).toString() }
    : { click_id: wrong }
  stage.install(app, person, click.clicked_at_ms + hour_ms, {
    props,
    truth: { partner: organicName, flags: ['forged_click'], guilty: ['forged_click'] },
  })
}
