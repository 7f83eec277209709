import { z } from 'zod'

/** Every report that can be asked for; other names answer `unknown_report`. */
export const reportNames = ['events'] as const
export type ReportName = (typeof reportNames)[number]

export const EventsReportRow = z.object({
  day: z.iso.date(),
  event_name: z.string(),
  events: z.number().int(),
  unique_installs: z.number().int(),
  revenue_usd: z.number(),
})

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
