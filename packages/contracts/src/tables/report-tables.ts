import { type ErasedBy, same, type Table } from './table.ts'

const settled_anew = { nothing: 'its stamp ends it, and the settler counts anew' } satisfies ErasedBy

/** Where a figure of a day comes from: each has stamps of its own (docs/decisions/reports.md#settled-figures-carry-a-version). */
export const stampSources = ['activity', 'uniques', 'installs', 'money', 'dimensions', 'clicks'] as const
export type StampSource = (typeof stampSources)[number]

/** SQL of the UTC day of the corrected time of an event of `events_raw_v1` (docs/rules.md#age-of-an-event). */
export const correctedDay = "toDate(fromUnixTimestamp64Milli(ts_ms + correction_ms, 'UTC'))"
/** SQL of the UTC day of the events of a row of `activity_by_day_v1`: deletes name it `event_day`. */
export const eventDay = 'day + event_shift'

/** The activity of each install. A cohort reads the days that its windows meet. */
export const activityByDay = {
  row: 'first and last event of an install on a day of their corrected times, for each day of the events',
  writers: ['event-writer', 'eraser'],
  readers: ['report-api', 'admin-api', 'eraser', 'reconciler', 'settler'],
  personal: ['install_key'],
  erased_by: { made_again: 'events_raw_v1', on: ['day', 'event_day', 'install_key'] },
  derived: {
    from: 'events_raw_v1',
    known_by: 'set',
    day: eventDay,
    groups: {
      ...same('app_id'),
      day: correctedDay,
      event_shift: `toInt16(day - ${correctedDay})`,
      install_key: 'sipHash64(install_uuid)',
    },
    values: {
      min_ts_ms: ['min(min_ts_ms)', 'min(ts_ms + correction_ms)'],
      max_ts_ms: ['max(max_ts_ms)', 'max(ts_ms + correction_ms)'],
    },
  },
} as const satisfies Table

/** The days of money of each install, which a changed verdict bumps the stamps of. */
export const moneyDays = {
  row: 'a day on which an install has money',
  writers: ['event-writer', 'eraser'],
  readers: ['install-writer', 'admin-api', 'eraser', 'reconciler', 'settler'],
  personal: ['install_key'],
  erased_by: { made_again: 'revenue_raw_v1', on: ['install_key', 'day'] },
  derived: {
    from: 'revenue_raw_v1',
    known_by: 'set',
    groups: { ...same('app_id'), install_key: 'sipHash64(install_uuid)' },
    values: { day: ['arraySort(groupUniqArray(day))', 'arraySort(groupUniqArray(day))'] },
  },
} as const satisfies Table

/** Stamps, and the figures that the settler works out by them. */
export const settlingTables = {
  report_stamps_v1: {
    row: 'a number of changes to the data of a day; views behind the data and install-writer add to it',
    writers: ['install-writer', 'eraser'],
    readers: ['report-api', 'reconciler', 'settler'],
    personal: [],
    erased_by: { nothing: 'it counts changes of a day' },
    settling: 'stamps',
  },
  settled_installs_v1: {
    row: 'the installs of a day by partner and attribution type',
    writers: ['settler'],
    readers: ['report-api', 'reconciler', 'settler'],
    personal: [],
    erased_by: settled_anew,
    settling: 'figures',
  },
  settled_uniques_v1: {
    row: 'the distinct installs of a day by event name',
    writers: ['settler'],
    readers: ['report-api', 'reconciler', 'settler'],
    personal: [],
    erased_by: settled_anew,
    settling: 'figures',
  },
  settled_money_v1: {
    row: 'the money of a day by partner and currency, its paying installs, and the money by age of the install',
    writers: ['settler'],
    readers: ['report-api', 'reconciler', 'settler'],
    personal: [],
    erased_by: settled_anew,
    settling: 'figures',
  },
  settled_payments_v1: {
    row: 'the money events of a day that count, with the verdicts of their installs, which are numbered and have no names',
    writers: ['settler'],
    readers: ['report-api', 'reconciler', 'settler'],
    personal: [],
    erased_by: settled_anew,
    settling: 'figures',
  },
  settled_cohorts_v1: {
    row: 'how many new installs of a day had an event in the 24 hours from n x 24 hours after the install on',
    writers: ['settler'],
    readers: ['report-api', 'reconciler', 'settler'],
    personal: [],
    erased_by: settled_anew,
    settling: 'figures',
  },
  settled_campaigns_v1: {
    row: 'the installs of a day by partner, campaign and country',
    writers: ['settler'],
    readers: ['report-api', 'reconciler', 'settler'],
    personal: [],
    erased_by: settled_anew,
    settling: 'figures',
  },
  settled_clicks_v1: {
    row: 'the clicks of a day by partner, campaign and country',
    writers: ['settler'],
    readers: ['report-api', 'reconciler', 'settler'],
    personal: [],
    erased_by: settled_anew,
    settling: 'figures',
  },
  settled_earnings_v1: {
    row: 'the money of a day by install, with its verdict; hashes of log positions stand for installs',
    writers: ['settler'],
    readers: ['report-api', 'reconciler', 'settler'],
    personal: [],
    erased_by: settled_anew,
    settling: 'figures',
  },
  settled_campaign_cohorts_v1: {
    row: 'the same as settled_cohorts_v1, by partner, campaign and country',
    writers: ['settler'],
    readers: ['report-api', 'reconciler', 'settler'],
    personal: [],
    erased_by: settled_anew,
    settling: 'figures',
  },
} as const satisfies Record<string, Table>
