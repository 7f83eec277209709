import { z } from 'zod'

/** Every report that can be asked for; other names answer `unknown_report`. */
export const reportNames = ['events'] as const
export type ReportName = (typeof reportNames)[number]

export const EventsReportRow = z.object({
  day: z.iso.date().describe('UTC.'),
  event_name: z.string(),
  events: z.number().int().describe('Accepted events, duplicates left out.'),
  unique_installs: z.number().int().describe('Different installs among them.'),
  revenue_usd: z
    .number()
    .describe('Counted money, refunds subtracted, at the exchange rate of its day; 0 without any.'),
})

/** What is known of an install: `since_ms` is the time of its first event with the user id, Unix epoch ms. */
export const InstallRecord = z.object({
  app_id: z.string(),
  install_uuid: z.string(),
  installed_at_ms: z.number().int().nullable().describe('Unix epoch ms; null while there is no install event.'),
  identities: z
    .array(z.object({ user_id: z.string(), since_ms: z.number().int() }))
    .describe('User ids of the install, ordered by `since_ms`, the time of the first event with the user id.'),
})
export type InstallRecord = z.infer<typeof InstallRecord>

/** `meta` of every report answer; all integers, times in Unix epoch ms. */
export const ReportMeta = z.object({
  since_ms: z.number().int(),
  until_ms: z.number().int(),
  limit: z.number().int(),
  offset: z.number().int(),
  elapsed_ms: z.number().int(),
})
export type ReportMeta = z.infer<typeof ReportMeta>

export const EventsReport = z.object({ rows: z.array(EventsReportRow), meta: ReportMeta })
export type EventsReport = z.infer<typeof EventsReport>
