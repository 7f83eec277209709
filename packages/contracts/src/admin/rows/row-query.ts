import { z } from 'zod'
import { limits } from '../../limits.ts'
import { created_at_ms, text } from '../admin-fields.ts'

const time = z.coerce
  .number()
  .int()
  .min(0)
  .max(Date.UTC(2100, 0, 1))
  .optional()

/** The window of rows. */
export const rowWindow = {
  since_ms: time.meta({
    description: 'Inclusive, Unix epoch ms. 30 days before `until_ms` by default.',
    example: created_at_ms,
  }),
  until_ms: time.meta({
    description: `Exclusive. Now by default; at most ${limits.report_window_days_max} days after \`since_ms\`.`,
    example: created_at_ms + 86_400_000,
  }),
}

/** The page of a list of rows. */
export const rowPage = {
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(limits.report_limit_max)
    .default(limits.report_limit_default)
    .meta({ description: 'Rows of a page.', example: 100 }),
  cursor: text(200)
    .optional()
    .meta({
      description: '`next_cursor` of the page before, with the same filters.',
      example: `${created_at_ms}.install-1`,
    }),
}
