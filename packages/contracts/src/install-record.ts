import { z } from 'zod'
import { Candidate, Verdict, Windows } from './attribution/verdict.ts'

/** What is known of an install and why. Absent values are null; times are Unix epoch ms (docs/rules.md#install-record). */
export const InstallRecord = z.object({
  app_id: z.string(),
  install_uuid: z.string(),
  installed_at_ms: z.number().int().nullable().describe('Unix epoch ms; null while there is no install event.'),
  verdict: Verdict.extend({
    deep_link: z.string().nullable().describe('Of the link of the click; null where it has none.'),
  })
    .nullable()
    .describe('Where it came from; null while it is not decided or waits for a click.'),
  rule_version: z.number().int().nullable().describe('Version of the rules that decided.'),
  windows: Windows.nullable().describe('The windows that decided.'),
  candidates: z.array(Candidate).describe('Clicks that might have brought it, best first, each with why it lost.'),
  pending: z
    .boolean()
    .describe('True: a click that Tributary signed has not arrived. It is waited for up to 24 hours.'),
  history: z
    .array(Verdict.extend({ decided_at_ms: z.number().int().describe('When it became the verdict, Unix epoch ms.') }))
    .describe('Earlier verdicts, oldest first.'),
  identities: z
    .array(z.object({ user_id: z.string(), since_ms: z.number().int() }))
    .describe('User ids of the install, ordered by `since_ms`, the time of the first event with the user id.'),
  identities_cut: z.literal(true).optional().describe('There are more user ids, which are left out; absent otherwise.'),
})
export type InstallRecord = z.infer<typeof InstallRecord>
