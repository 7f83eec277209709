import { z } from 'zod'
import { consumers } from '../consumers.ts'
import { exampleWindow } from '../report-parameters.ts'
import type { Route, Routes } from '../routes/route.ts'
import { RawClick, RawErasure, RawEvent, RawInstall, RawReceipt } from './raw-rows.ts'

interface RawTable {
  summary: string
  /** Names the rows, for the reference. */
  description: string
  /** The columns, in their order. */
  row: z.ZodObject
  /** `row` under its name in the document. */
  named: Record<string, z.ZodType>
  /** The consumer whose batches hold back what is complete; null where other stamps do. */
  written_by: string | null
}

/** The tables of raw data. Names and types of their columns never change; new ones are added. */
export const rawTables = {
  events: {
    summary: 'Raw events',
    description: 'Each accepted event once, also late, replayed and retried ones.',
    row: RawEvent,
    named: { RawEvent },
    written_by: consumers.eventWriter.name,
  },
  clicks: {
    summary: 'Raw clicks',
    description: 'Each click on a tracking link once, and each hit of a honeypot.',
    row: RawClick,
    named: { RawClick },
    written_by: consumers.clickWriter.name,
  },
  installs: {
    summary: 'Raw verdicts on installs',
    description: 'A row for each change of a verdict, as it was decided. Of an install the last row counts.',
    row: RawInstall,
    named: { RawInstall },
    written_by: consumers.installWriter.name,
  },
  receipts: {
    summary: 'Raw verdicts on receipts',
    description:
      'The verdict on the receipt of an event, or on an event that a store sent itself, when it was stored. Of an event the last row counts; one that was replaced before it was read may be missing.',
    row: RawReceipt,
    named: { RawReceipt },
    written_by: null,
  },
  erasures: {
    summary: 'Erased installs and clicks',
    description: 'What a copy of raw data has to drop. Rows stay for 62 days.',
    row: RawErasure,
    named: { RawErasure },
    written_by: null,
  },
} as const satisfies Record<string, RawTable>
export type RawTableName = keyof typeof rawTables
export const rawTableNames = Object.keys(rawTables) as RawTableName[]

export const rawFormats = ['jsonl', 'parquet'] as const
export type RawFormat = (typeof rawFormats)[number]

/** Content types of answers. */
export const rawTypes = {
  jsonl: 'application/x-ndjson; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
} as const satisfies Record<RawFormat, string>

const { since_ms, until_ms } = exampleWindow

/** The query parameters; any other is `unknown_parameter`. */
export const RawParameters = z.object({
  since_ms: z.number().int().meta({
    description: 'Inclusive start of the window of `stored_at_ms`, Unix epoch ms.',
    example: since_ms,
  }),
  until_ms: z.number().int().meta({
    description:
      'Exclusive end of the window, Unix epoch ms, at most 31 days after its start. Where not everything is stored yet the answer ends at `X-Until-Ms`.',
    example: until_ms,
  }),
  format: z.enum(rawFormats).default('jsonl').describe('Lines of JSON, or one Parquet file.'),
})

const rawRoute = (name: RawTableName): Route => ({
  method: 'GET',
  path: `/api/v1/raw/${name}`,
  auth: 'reports',
  tag: 'Reports',
  summary: rawTables[name].summary,
  description: `${rawTables[name].description} The window is of the time of storing: windows that follow each other, each from \`X-Until-Ms\` of the one before, hold each row exactly once. Read all again when \`X-Raw-Epoch\` is another one than before. The app is that of the key, which needs the scope \`raw:read\`. One answer of an app at a time.`,
  query: RawParameters,
  answers: {
    200: {
      schema: rawTables[name].named,
      form: 'lines or parquet',
      description: 'Rows in no certain order. A connection that ends with a fault means that rows are missing.',
    },
  },
  errors: [
    ...(['unknown_parameter', 'invalid_since_until', 'since_ms_must_be_less_than_until_ms'] as const),
    ...(['window_too_large', 'invalid_field', 'busy'] as const),
  ],
})

/** The operation of each table: `rawEvents` of `events`. */
export const rawRoutes: Routes = Object.fromEntries(
  rawTableNames.map((name) => [`raw${name[0]!.toUpperCase()}${name.slice(1)}`, rawRoute(name)]),
)
