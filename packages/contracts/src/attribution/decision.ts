import { z } from 'zod'
import { idShape } from '../event/envelope.ts'
import { Click } from './click.ts'
import { dated_text, InstallFact, Place } from './found.ts'
import { Candidate, Verdict, Windows } from './verdict.ts'

const id = z.string().regex(idShape)

/** A click as a decision keeps it, with its position: clicks expire before verdicts do. */
export const KeptClick = Click.extend({
  place: Place,
  ip: Click.shape.ip.describe('Empty in a decision, and once retention has blanked it.'),
  match_keys: z
    .array(z.string())
    .optional()
    .describe('Present where the address is empty: hashes of what an install may match it by.'),
})
export type KeptClick = z.infer<typeof KeptClick>

/** How far the attributor had read when it decided: a decision behind a written one is ignored (docs/attribution.md). */
export const DecidedAt = z.object({
  log: z.string().describe('`<topic>@<log>` of `installs.found.v1`; names of logs sort by time.'),
  offset: z.number().int().describe('Last offset that it took in.'),
  try: z.number().int().describe('How often the batch was begun, by any process.'),
})
export type DecidedAt = z.infer<typeof DecidedAt>

/** A record of `installs.attributed.v1`; the newest of an install counts. */
export const Decision = z.object({
  v: z.literal(1).describe('Version of this shape.'),
  company_id: id,
  app_id: id,
  install_uuid: id,
  installed_at_ms: z.number().int().describe('Unix epoch ms.'),
  received_at_ms: z.number().int().describe('When its install event was received, Unix epoch ms.'),
  dated_at_ms: z.number().int().optional().describe(dated_text),
  place: Place.describe('Of its install event.'),
  country: InstallFact.shape.country,
  fills: z
    .literal('country')
    .optional()
    .describe(
      'Present: it says the country of an install of before, and decides nothing (docs/attribution.md#countries).',
    ),
  pending: z.boolean().describe('True: a click that we signed is not there yet.'),
  verdict: Verdict.nullable().describe('Null while pending.'),
  clicked_at_ms: z.number().int().nullable().describe('Of the click that won, Unix epoch ms.'),
  rule_version: z.number().int(),
  windows: Windows,
  candidates: z.array(Candidate).describe('Best first.'),
  clicks: z.array(KeptClick).describe('Of the candidates, as far as they are known.'),
  decided_at_ms: z.number().int().describe('Unix epoch ms.'),
  decided_at: DecidedAt,
})
export type Decision = z.infer<typeof Decision>
