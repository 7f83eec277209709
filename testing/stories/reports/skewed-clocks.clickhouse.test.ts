import { day_ms, hour_ms } from '@tributary/contracts/limits'
import type { ReportName } from '@tributary/contracts/reports'
import { installTime } from '@tributary/domain/install-time'
import { type DecidedInstall, dayOf, type SentEvent } from '@tributary/testing/oracle/history'
import { first_ms } from '@tributary/testing/oracle/random-history'
import { roundsOf } from '@tributary/testing/rounds'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newAppId, openReportStage, type ReportStage } from './stage.ts'

/**
 * Phones whose clock was an hour slow or fast, or as much as is corrected, shortly after midnight UTC, before it, and at it: the
 * phone's time and the corrected one may be on different days.
 */
const phones = [hour_ms / 2, -hour_ms / 2, 0].flatMap((ms) =>
  [hour_ms, -hour_ms, ...(ms === 0 ? [day_ms, -day_ms] : [])].map((skew_ms) => {
    return { at_ms: first_ms + 3 * day_ms + ms, skew_ms }
  }),
)

let sent = 0
/** An event of the install of a story that a phone sent when it happened, with a clock that is so many ms slow. */
function event({ at_ms, skew_ms }: { at_ms: number; skew_ms: number }, given: Partial<SentEvent> = {}): SentEvent {
  return {
    ...{ app: 0, install_uuid: 'i', partition: 0, source: 'sdk', received_at_ms: at_ms, skew_ms },
    ...{ event_id: `e${sent++}`, event_name: 'app_open', event_ts_ms: at_ms - skew_ms },
    ...{ revenue: null, currency: null, transaction_id: null },
    ...given,
  }
}
type Sent = Parameters<typeof event>[0]
const paid = (by: Sent, revenue: number, given: Partial<SentEvent> = {}) =>
  event(by, { event_name: 'purchase', revenue, ...given })
const later = ({ at_ms, skew_ms }: Sent, ms: number) => ({ at_ms: at_ms + ms, skew_ms })

interface Story {
  name: string
  app_id: string
  install: SentEvent
  events: SentEvent[]
  decision: DecidedInstall
  /** Rows of reports without their fields of no interest here. */
  expected: Partial<Record<ReportName, object[]>>
}

/** An app whose only install has these events. Its verdict has the install time that attribution gives it. */
function story(name: string, install: SentEvent, events: SentEvent[], expected: Story['expected']): Story {
  const { source, event_ts_ms, received_at_ms, skew_ms } = install
  const sent_at_ms = typeof skew_ms === 'number' ? received_at_ms - skew_ms : 0
  const decision = {
    ...{ app: 0, install_uuid: 'i', partner: 'acme', attribution_type: 'click_id' },
    ...{ reinstall: false, flagged: false, pending: false },
    installed_at_ms: installTime({ source, ts_ms: event_ts_ms, received_at_ms, sent_at_ms }),
  }
  return { name, app_id: newAppId(), install: { ...install, event_name: 'app_install' }, events, decision, expected }
}

const stories: Story[] = [
  ...phones.flatMap((phone) => {
    const by = `a clock ${phone.skew_ms / hour_ms} h slow at ${new Date(phone.at_ms).toISOString()}`
    const day = dayOf(phone.at_ms)
    return [
      story(`money of the batch of its install is of day 0, by ${by}`, event(phone), [paid(phone, 3)], {
        ltv: [{ day, installs: 1, revenue_usd: 3, d0_revenue_usd: 3, d0_arpi_usd: 3 }],
        cohorts: [{ day, installs: 1, d0: 1, d1: 0 }],
        revenue: [{ day: dayOf(phone.at_ms - phone.skew_ms), revenue_usd: 3 }],
      }),
      story(
        `the last milliseconds before an install and a day are not of it, by ${by}`,
        event(phone),
        [paid(later(phone, -1), 8), paid(later(phone, day_ms - 1), 1), paid(later(phone, 2 * day_ms), 2)],
        {
          ltv: [{ day, d0_revenue_usd: 1, d1_revenue_usd: 1, revenue_usd: 3 }],
          cohorts: [{ day, d1: 0, d2: 1 }],
        },
      ),
      story(
        `the first millisecond of a day is of it, by ${by}`,
        event(phone),
        [paid(later(phone, day_ms), 1), paid(later(phone, 3 * day_ms - 1), 2)],
        { ltv: [{ day, d0_revenue_usd: 0, d1_revenue_usd: 1, revenue_usd: 3 }], cohorts: [{ day, d1: 1, d2: 1 }] },
      ),
    ]
  }),
  ...(['sdk', 's2s', 'bulk'] as const).map((source) => {
    const at_ms = first_ms + 3 * day_ms
    const ahead = { source, event_ts_ms: at_ms + 23 * hour_ms, skew_ms: null }
    const by = { at_ms, skew_ms: 0 }
    return story(
      `install and money of one time ahead are of day 0, by ${source}`,
      event(by, ahead),
      [paid(by, 3, ahead)],
      {
        ltv: [{ day: dayOf(at_ms), revenue_usd: 3, d0_revenue_usd: 3 }],
        cohorts: [{ day: dayOf(at_ms), d0: 1, d1: 0 }],
      },
    )
  }),
]

const window = { since_ms: first_ms - 5 * day_ms, until_ms: first_ms + 40 * day_ms }
const days = [0, 1, 2]

let stage: ReportStage
beforeAll(async () => {
  stage = await openReportStage()
  await stage.write(
    {
      events: stories.flatMap(({ install, events }, app) => [install, ...events].map((one) => ({ ...one, app }))),
      decisions: stories.map(({ decision }, app) => ({ ...decision, app, place: 0 })),
    },
    stories.map(({ app_id }) => app_id),
  )
})
afterAll(() => stage.close())

/** Each way of being wrong, with one of the stories of each phone: what is settled is worked out by the same rules. */
const live = stories.filter((_, n) => (n + Math.floor(n / 3)) % 3 < roundsOf(1))

describe.each([
  ['live', live],
  ['settled', stories],
] as const)('%s', (state, told_here) => {
  beforeAll(async () => {
    if (state === 'settled') await stage.settle()
  })

  test.each(told_here)('$name', async ({ name, app_id, install, events, decision, expected }) => {
    const history = { history: { events: [install, ...events], decisions: [decision] }, app: 0, app_id, note: name }
    for (const [report, rows] of Object.entries(expected) as [ReportName, object[]][]) {
      const more = report === 'revenue' ? {} : { days }
      expect((await stage.compare(history, report, { ...window, ...more })).rows).toMatchObject(rows)
    }
    // An edge inside the day of the install reads its money by install.
    await stage.compare(history, 'ltv', { ...window, since_ms: decision.installed_at_ms, days })
  })
})

test('an event without a time is as old as its receipt, whatever the clock of its phone said', async () => {
  const phone = { at_ms: first_ms + 3 * day_ms, skew_ms: -hour_ms }
  // Corrected, it would come before the install.
  const { event_ts_ms: _, ...untimed } = paid(phone, 3)
  const { app_id, install, decision } = story('', event({ ...phone, skew_ms: 0 }), [], {})
  await stage.write({ events: [install, untimed as SentEvent], decisions: [{ ...decision, place: 0 }] }, [app_id])
  const { rows } = await stage.ask('ltv', app_id, { ...window, days })
  expect(rows).toMatchObject([{ revenue_usd: 3, d0_revenue_usd: 3 }])
})
