import { z } from 'zod'
import { id_rule, idShape } from '../event/envelope.ts'
import { limits } from '../limits.ts'
import type { Routes } from '../routes/route.ts'
import { text } from './admin-fields.ts'
import { managers } from './people/roles.ts'

/** Content of a file of exchange rates: `from` and `to` are its first and last day. */
export const FxLoaded = z.object({
  days: z.number().int(),
  currencies: z.number().int(),
  rates: z.number().int(),
  from: z.iso.date(),
  to: z.iso.date(),
})
export type FxLoaded = z.infer<typeof FxLoaded>

const StartReplay = z.strictObject({
  source: z.enum(['log', 'audit']).describe('Where the events are read: the event log, or the audit objects.'),
  since_ms: z
    .number()
    .int()
    .min(0)
    .max(Date.UTC(2100, 0, 1))
    .optional()
    .describe('Only what came at or after this time, Unix epoch ms.'),
  app_id: z.string().optional().describe('Only this app.'),
  dry_run: z.boolean().default(false).describe('Only count.'),
})
export type StartReplay = z.infer<typeof StartReplay>

/** A replay as admin-api asks the replayer for it; the id of the request stands in the log of both. */
export const AskedReplay = StartReplay.extend({ request_id: z.string() })
export type AskedReplay = z.infer<typeof AskedReplay>

/** One line of the answer to `POST /replays`. */
export const ReplayProgress = z.object({
  state: z
    .enum(['waiting', 'running', 'done', 'stopped', 'failed'])
    .describe('`waiting`: the writer has events to write first. The last line is `done`, `stopped` or `failed`.'),
  replayed: z.number().int().describe('Events that were read.'),
  filled: z.number().int().describe('Events that were missing and were put into the log again (`dry_run`: would be).'),
  clicks_filled: z
    .number()
    .int()
    .optional()
    .describe('Archived clicks that were missing and were put into the log again; absent without any.'),
  postbacks_filled: z
    .number()
    .int()
    .optional()
    .describe('Postbacks of Apple that were missing and were put into the log again; absent without any.'),
  unknown: z.number().int().describe('The sum of `unknown_reasons`.'),
  unknown_reasons: z
    .record(z.string(), z.number().int())
    .describe('Events by the reason why it is unknown whether they are missing; docs/operations.md.'),
  at: z.string().describe('How far it has come, in words.'),
  percent: z.number().int().min(0).max(100).describe('How much of the source was read, rounded down.'),
  seconds: z.number().int().min(0).describe('Since it started.'),
  error: z.string().optional().describe('Code of `failed`.'),
})
export type ReplayProgress = z.infer<typeof ReplayProgress>

/** A replay that has read nothing yet. */
export const noProgress: ReplayProgress = {
  state: 'waiting',
  replayed: 0,
  filled: 0,
  unknown: 0,
  unknown_reasons: {},
  at: '',
  percent: 0,
  seconds: 0,
}

export const Settled = z.object({
  settled: z.number().int().describe('Figures of a day that were settled.'),
  done: z.boolean().describe('False: more is due, and the next call goes on.'),
})
export type Settled = z.infer<typeof Settled>

/** One line of an export: a row of a table, or at the end how many there were. */
export const ExportLine = z.union([
  z.object({ table: z.string().describe('docs/data.md tells its columns.'), row: z.record(z.string(), z.unknown()) }),
  z.object({ done: z.literal(true), rows: z.number().int() }),
])
export type ExportLine = z.infer<typeof ExportLine>

const exportParams = z.object({
  install_uuid: z.string().regex(idShape, id_rule).meta({ description: 'Id of the install.', example: 'install-1' }),
})
const exportQuery = z.object({ app_id: text(64).meta({ description: 'App of the install.', example: 'app_1' }) })

const auditQuery = z.object({
  key: z.string().meta({
    description: 'An `audit_key` that an answer had.',
    example: 's2s/2026-06-01/renewal-1.json',
  }),
  app_id: z.string().optional().meta({
    description: 'Id of the app; keys of requests of apps name it themselves.',
    example: 'app_1',
  }),
})

/** Header of an audit object that was rewritten: when, Unix epoch ms (docs/rules.md#rewritten-audit-objects). */
export const rewritten_header = 'x-rewritten-at-ms'

/** The routes of exchange rates, audit objects, exports and replays. */
export const storedDataRoutes = {
  loadFxRates: {
    method: 'POST',
    path: '/admin/api/v1/fx-rates',
    auth: 'admin',
    roles: ['operator'],
    tag: 'Admin',
    summary: 'Load exchange rates',
    description:
      "The ECB's own CSV file as it is (`eurofxref.csv` or `eurofxref-hist.csv`), at most 8 MiB. May be repeated.",
    body: {
      schema: z.string(),
      content_type: 'text/csv',
      description: 'Newest day first.',
      bytes_max: limits.fx_csv_bytes_max,
      examples: { 'two days': 'Date,USD,GBP,\n2026-06-02,1.0812,0.8519,\n2026-06-01,1.0795,N/A,\n' },
    },
    answers: {
      200: {
        schema: { FxLoaded },
        description: 'Content of the file.',
        example: { days: 2, currencies: 2, rates: 3, from: '2026-06-01', to: '2026-06-02' } satisfies FxLoaded,
      },
    },
    errors: ['bad_csv'],
  },
  getAuditObject: {
    method: 'GET',
    path: '/admin/api/v1/audit-objects',
    auth: 'admin',
    roles: managers,
    over: 'app of query',
    tag: 'Admin',
    summary: 'Object of an audit key',
    description:
      'The object that holds a request, as it was received. Requests of apps come as gzipped lines of JSON, one a request, all others as one JSON document. An object that an erasure or retention rewrote has the header `X-Rewritten-At-Ms` (Unix epoch ms); a document then has `rewritten_at_ms` too, and `body: null` when nothing remains of it. Each look is kept in the audit log.',
    query: auditQuery,
    answers: { 200: { schema: z.unknown(), form: 'json or lines', description: 'The object.' } },
    errors: ['unknown_audit_key'],
  },
  exportInstall: {
    method: 'GET',
    path: '/admin/api/v1/installs/:install_uuid/export',
    auth: 'admin',
    roles: [...managers, 'privacy'],
    over: 'app of query',
    tag: 'Admin',
    summary: 'All that is known of an install',
    description:
      'A line for each row that the tables hold of the install, with the clicks that it won. The last line is `{"done": true, "rows"}`: an answer without it broke off. An unknown install has no rows. Each export is kept in the audit log.',
    params: exportParams,
    query: exportQuery,
    answers: { 200: { schema: { ExportLine }, form: 'lines', description: 'Lines of `ExportLine`.' } },
    errors: ['unknown_app'],
  },
  startReplay: {
    method: 'POST',
    path: '/admin/api/v1/replays',
    auth: 'admin',
    roles: ['operator'],
    tag: 'Admin',
    summary: 'Fill accepted events that the tables lack',
    description:
      'Reads events again from the log or the audit store and fills those that are missing, exactly once. The answer is one line of JSON a second; the last says how it ended. It runs as long as the request: closing the connection stops it. May be repeated.',
    body: { schema: { StartReplay }, examples: { example: { source: 'log', dry_run: true } } },
    answers: { 200: { schema: { ReplayProgress }, form: 'lines', description: 'Lines of `ReplayProgress`.' } },
    errors: ['unknown_app', 'replay_running'],
  },
  settle: {
    method: 'POST',
    path: '/admin/api/v1/settle',
    auth: 'admin',
    roles: ['operator'],
    tag: 'Admin',
    summary: 'Settle the figures of reports that are due',
    description:
      'Works out the figures of each day that has changed since they were worked out, without waiting until a day is quiet. A job does it always. Answers after some seconds, `done` or not; call it again until it is. Reports are right before, meanwhile and after; days that are not settled take longer.',
    answers: {
      200: {
        schema: { Settled },
        description: 'What was settled.',
        example: { settled: 412, done: true } satisfies Settled,
      },
    },
  },
} satisfies Routes
