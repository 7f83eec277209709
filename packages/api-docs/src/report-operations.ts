import type { ErrorCode } from '@tributary/contracts/errors'
import { parametersOf, type ReportName, reportNames } from '@tributary/contracts/reports'
import type { Operation, Parameter } from './operation.ts'
import type { SchemaName } from './schemas.ts'

const since_ms = Date.UTC(2026, 5, 1)
const until_ms = Date.UTC(2026, 6, 1)

const keyErrors: ErrorCode[] = [
  'missing_bearer_token',
  'invalid_or_revoked_key',
  'company_suspended',
  'scope_missing',
  'rate_limited',
]

const examples: Record<string, unknown> = { since_ms, until_ms }

const parametersOfReport = (name: ReportName): Parameter[] =>
  Object.entries(parametersOf(name)).map(([parameter, { description, schema }]) => ({
    ...{ name: parameter, in: 'query', description, schema },
    ...(parameter in examples && { example: examples[parameter] }),
  }))

interface ReportText {
  schema: SchemaName
  summary: string
  description: string
  row: object
}

/** The texts of each report. */
const texts: Record<ReportName, ReportText> = {
  events: {
    schema: 'EventsReport',
    summary: 'Events by day and name',
    description: 'All accepted events of the app. Rows are ordered by day, then by event name.',
    row: { day: '2026-06-01', event_name: 'purchase', events: 120, unique_installs: 97, revenue_usd: 598.8 },
  },
}

function reportOperation(name: ReportName): Operation {
  const { schema, summary, description, row } = texts[name]
  return {
    method: 'get',
    path: `/api/v1/reports/${name}`,
    id: `${name}Report`,
    tag: 'Reports',
    summary,
    description: `${description} Days are UTC and without rows where nothing happened; the window is exact to the millisecond. The app is that of the key.`,
    auth: 'server_key',
    parameters: parametersOfReport(name),
    answers: {
      200: {
        description: 'A page of rows.',
        schema,
        example: { rows: [row], meta: { since_ms, until_ms, limit: 100, offset: 0, elapsed_ms: 12 } },
      },
    },
    errors: [
      ...keyErrors,
      'unknown_report',
      'unknown_parameter',
      'invalid_since_until',
      'since_ms_must_be_less_than_until_ms',
      'window_too_large',
      'invalid_limit',
      'invalid_offset',
      'invalid_field',
    ],
  }
}

const install: Operation = {
  method: 'get',
  path: '/api/v1/installs/{install_uuid}',
  id: 'getInstall',
  tag: 'Reports',
  summary: 'What is known of an install',
  description: 'When it was installed, and which users it was.',
  auth: 'server_key',
  parameters: [
    {
      name: 'install_uuid',
      in: 'path',
      required: true,
      description: 'As events name it.',
      schema: { type: 'string' },
      example: '0b8f5c1e-2f64-4c7b-a1de-93f1f5f0a9c3',
    },
  ],
  answers: {
    200: {
      description: 'The install.',
      schema: 'InstallRecord',
      example: {
        app_id: 'app_1',
        install_uuid: '0b8f5c1e-2f64-4c7b-a1de-93f1f5f0a9c3',
        installed_at_ms: since_ms,
        identities: [{ user_id: 'user-17', since_ms: since_ms + 60_000 }],
      },
    },
  },
  errors: [...keyErrors, 'unknown_install', 'not_found'],
}

/** The routes of the report API. */
export const reportOperations: readonly Operation[] = [...reportNames.map(reportOperation), install]
