import type { ErrorCode } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { Operation, Parameter } from './operation.ts'
import type { SchemaName } from './schemas.ts'

const prefix = '/admin/api/v1'
const tokenErrors: ErrorCode[] = ['missing_bearer_token', 'invalid_admin_token', 'rate_limited']

const pathId = (what: string, example: string): Parameter => ({
  name: 'id',
  in: 'path',
  required: true,
  description: `Id of the ${what}.`,
  schema: { type: 'string' },
  example,
})

type Shown = Operation['answers'][number]

type Told = Pick<Operation, 'path' | 'id' | 'summary'> & Partial<Operation> & { shown: Shown }

/** A route that reads. */
const read = ({ path, shown, errors = [], ...told }: Told): Operation => ({
  method: 'get',
  path: prefix + path,
  tag: 'Admin',
  description: told.summary,
  auth: 'admin',
  answers: { 200: shown },
  errors: [...tokenErrors, ...errors],
  ...told,
})

/** A route that changes something, which `admin_audit_log` keeps. */
const change = ({ errors = [], ...told }: Told): Operation =>
  read({ method: 'post', ...told, errors: ['body_too_large', ...errors] })

const body = (schema: SchemaName, example: object) => ({
  schema,
  description: 'JSON. Other fields are refused.',
  examples: { example },
})

const company = {
  company_id: 'co_1',
  company_key: `co_live_${'0'.repeat(32)}`,
  plan: 'growth',
  monthly_quota: 50_000_000,
}
const created_at_ms = Date.UTC(2026, 5, 1)
const companyNow = { ...company, name: 'Example Games', status: 'active', created_at_ms }
const app = {
  app_id: 'app_1',
  company_id: 'co_1',
  app_key: `app_live_${'0'.repeat(32)}`,
  name: 'Example Run',
  platform: 'android',
  bundle_id: 'com.example.run',
  store_id: null,
  provider_token: null,
  created_at_ms,
  old_secrets_end_ms: [],
}
const key = { key_id: 'key_1', label: 'billing', allowed_events: ['purchase', 'subscription_renewed'] }
const status = (value: 'active' | 'suspended'): Shown => ({
  schema: 'CompanyStatus',
  description: 'The state of the company now.',
  example: { company_id: 'co_1', status: value },
})

/** The routes of the admin API. */
export const adminOperations: readonly Operation[] = [
  change({
    path: '/companies',
    id: 'createCompany',
    summary: 'Make a company',
    body: body('CreateCompany', { name: 'Example Games', plan: 'growth' }),
    shown: { schema: 'CompanyCreated', description: 'The company.', example: company },
    errors: ['bad_json', 'invalid_field'],
  }),
  read({
    path: '/companies',
    id: 'listCompanies',
    summary: 'All companies',
    shown: {
      schema: 'CompanyList',
      description: 'In the order in which they were made.',
      example: { companies: [companyNow] },
    },
  }),
  read({
    path: '/companies/{id}',
    id: 'getCompany',
    summary: 'One company',
    parameters: [pathId('company', 'co_1')],
    shown: { schema: 'Company', description: 'The company as it is now.', example: companyNow },
    errors: ['unknown_company', 'not_found'],
  }),
  change({
    method: 'patch',
    path: '/companies/{id}',
    id: 'changeCompany',
    summary: 'Change the plan or the quota of a company',
    description:
      'Changes what is given and nothing else, for all gateways at once. A plan brings its quota; `monthly_quota`, with it or later, replaces that.',
    parameters: [pathId('company', 'co_1')],
    body: body('ChangeCompany', { plan: 'growth' }),
    shown: { schema: 'Company', description: 'The company as it is now.', example: companyNow },
    errors: ['bad_json', 'invalid_field', 'unknown_company', 'not_found'],
  }),
  change({
    path: '/companies/{id}/suspend',
    id: 'suspendCompany',
    summary: 'Suspend a company',
    description: 'Within 10 s all its keys answer `company_suspended`. May be repeated.',
    parameters: [pathId('company', 'co_1')],
    shown: status('suspended'),
    errors: ['unknown_company', 'not_found'],
  }),
  change({
    path: '/companies/{id}/reinstate',
    id: 'reinstateCompany',
    summary: 'Reinstate a company',
    description: 'Its keys work again. May be repeated.',
    parameters: [pathId('company', 'co_1')],
    shown: status('active'),
    errors: ['unknown_company', 'not_found'],
  }),
  read({
    path: '/companies/{id}/usage',
    id: 'getCompanyUsage',
    summary: 'Use of a month against the quota',
    parameters: [
      pathId('company', 'co_1'),
      {
        name: 'month',
        in: 'query',
        description: '`yyyy-mm`, UTC; the present month by default.',
        schema: { type: 'string', pattern: '^20\\d\\d-(0[1-9]|1[0-2])$' },
        example: '2026-06',
      },
    ],
    shown: {
      schema: 'CompanyUsage',
      description: 'What was used. A month long gone counts 0.',
      example: { company_id: 'co_1', month: '2026-06', used: 1_234_567, rejected: 21, monthly_quota: 50_000_000 },
    },
    errors: ['unknown_company', 'invalid_field', 'not_found'],
  }),
  change({
    path: '/apps',
    id: 'createApp',
    summary: 'Make an app',
    description: 'The answer is the only place where its signing secret is shown.',
    body: body('CreateApp', {
      company_id: 'co_1',
      name: 'Example Run',
      platform: 'android',
      bundle_id: 'com.example.run',
    }),
    shown: {
      schema: 'AppCreated',
      description: 'The app and its secret.',
      example: { app_id: 'app_1', app_key: `app_live_${'0'.repeat(32)}`, signing_secret: '0'.repeat(64) },
    },
    errors: ['bad_json', 'invalid_field', 'unknown_company'],
  }),
  read({
    path: '/apps',
    id: 'listApps',
    summary: 'Apps of a company',
    parameters: [
      {
        name: 'company_id',
        in: 'query',
        required: true,
        description: 'Id of the company.',
        schema: { type: 'string' },
        example: 'co_1',
      },
    ],
    shown: {
      schema: 'AppList',
      description: 'Without their signing secrets, in the order in which they were made.',
      example: { apps: [app] },
    },
    errors: ['unknown_company', 'invalid_field'],
  }),
  change({
    method: 'patch',
    path: '/apps/{id}',
    id: 'changeApp',
    summary: 'Change an app',
    description: 'Changes what is given and nothing else. The platform of an app never changes.',
    parameters: [pathId('app', 'app_1')],
    body: body('ChangeApp', { bundle_id: 'com.example.run' }),
    shown: { schema: 'App', description: 'The app as it is now.', example: app },
    errors: ['bad_json', 'invalid_field', 'unknown_app', 'not_found'],
  }),
  change({
    path: '/apps/{id}/rotate-secret',
    id: 'rotateSigningSecret',
    summary: 'Give an app a new signing secret',
    description: `The answer is the only place where the new secret is shown. The secret of today stays valid beside it for \`overlap_hours\`; one that an earlier rotation replaced stays until its own end. At most ${limits.old_secrets_max} old secrets are valid at the same time; 0 hours ends all of them at once.`,
    parameters: [pathId('app', 'app_1')],
    body: body('RotateSecret', { overlap_hours: 24 }),
    shown: {
      schema: 'SecretRotated',
      description: 'The app as it is now, and its new secret.',
      example: {
        ...app,
        old_secrets_end_ms: [created_at_ms + 24 * 3_600_000],
        signing_secret: '0'.repeat(64),
      },
    },
    errors: ['bad_json', 'invalid_field', 'unknown_app', 'not_found'],
  }),
  change({
    path: '/keys',
    id: 'createServerKey',
    summary: 'Mint a server key',
    description: 'The answer is the only place where the key is shown.',
    body: body('CreateServerKey', {
      app_id: 'app_1',
      label: key.label,
      allowed_events: key.allowed_events,
      scopes: ['events:write'],
    }),
    shown: {
      schema: 'ServerKeyCreated',
      description: 'The key.',
      example: { ...key, key: `srv_${'0'.repeat(48)}` },
    },
    errors: ['bad_json', 'invalid_field', 'unknown_app'],
  }),
  read({
    path: '/keys',
    id: 'listServerKeys',
    summary: 'Server keys of an app',
    parameters: [
      {
        name: 'app_id',
        in: 'query',
        required: true,
        description: 'Id of the app.',
        schema: { type: 'string' },
        example: 'app_1',
      },
    ],
    shown: {
      schema: 'ServerKeyList',
      description: 'Without the keys themselves.',
      example: {
        keys: [{ ...key, scopes: ['events:write'], display: 'srv_0000...0000', status: 'active', created_at_ms }],
      },
    },
    errors: ['unknown_app', 'invalid_field'],
  }),
  change({
    path: '/keys/{id}/revoke',
    id: 'revokeServerKey',
    summary: 'Revoke a server key',
    description: 'Within 10 s it answers 401. Can not be undone, may be repeated.',
    parameters: [pathId('key', 'key_1')],
    shown: {
      schema: 'ServerKeyStatus',
      description: 'The state of the key now.',
      example: { key_id: 'key_1', status: 'revoked' },
    },
    errors: ['unknown_key', 'not_found'],
  }),
  change({
    path: '/fx-rates',
    id: 'loadFxRates',
    summary: 'Load exchange rates',
    description:
      "The ECB's own CSV file as it is (`eurofxref.csv` or `eurofxref-hist.csv`), at most 8 MiB. May be repeated.",
    body: {
      schema: { type: 'string' },
      content_type: 'text/csv',
      description: 'Newest day first.',
      examples: { 'two days': 'Date,USD,GBP,\n2026-06-02,1.0812,0.8519,\n2026-06-01,1.0795,N/A,\n' },
    },
    shown: {
      schema: 'FxLoaded',
      description: 'What the file held.',
      example: { days: 2, currencies: 2, rates: 3, from: '2026-06-01', to: '2026-06-02' },
    },
    errors: ['bad_csv'],
  }),
  read({
    path: '/audit-objects',
    id: 'getAuditObject',
    summary: 'What an audit key stands for',
    description:
      'The object that holds a request, as it was received. Requests of apps come as gzipped lines of JSON, one a request, all others as one JSON document. Each look is kept in the audit log.',
    parameters: [
      {
        name: 'key',
        in: 'query',
        required: true,
        description: 'An `audit_key` that an answer had.',
        schema: { type: 'string' },
        example: 's2s/2026-06-01/renewal-1.json',
      },
      {
        name: 'app_id',
        in: 'query',
        description: 'Id of the app; keys of requests of apps name it themselves.',
        schema: { type: 'string' },
        example: 'app_1',
      },
    ],
    shown: { schema: {}, lines_type: 'application/x-ndjson', description: 'The object.' },
    errors: ['invalid_field', 'unknown_audit_key'],
  }),
  change({
    path: '/replays',
    id: 'startReplay',
    summary: 'Fill accepted events that the tables lack',
    description:
      'Reads events again from the log or the audit store and fills those that are missing, exactly once. The answer is one line of JSON a second; the last says how it ended. It runs as long as the request: who hangs up stops it. May be repeated.',
    body: body('StartReplay', { source: 'log', dry_run: true }),
    shown: {
      schema: { type: 'string', contentSchema: { $ref: '#/components/schemas/ReplayProgress' } },
      content_type: 'application/x-ndjson',
      description: 'Lines of `ReplayProgress`.',
    },
    errors: ['bad_json', 'invalid_field', 'unknown_app', 'replay_running'],
  }),
  read({
    path: '/dead-letters',
    id: 'listDeadLetters',
    summary: 'Dead letters that wait',
    description:
      'Records that a consumer could not handle, by topic and reason. `too_large` are those that the letter lacks: they can not be retried. Letters go after 30 days.',
    parameters: [
      {
        name: 'topic',
        in: 'query',
        description: 'Only records of this topic.',
        schema: { type: 'string' },
        example: 'events.accepted.v1',
      },
    ],
    shown: {
      schema: 'DeadLetters',
      description: 'Letters that were not retried.',
      example: {
        dead: [
          {
            topic: 'events.accepted.v1',
            reason: 'row_refused',
            count: 12,
            first_ms: Date.UTC(2026, 5, 1),
            last_ms: Date.UTC(2026, 5, 2),
          },
        ],
      },
    },
    errors: ['invalid_field'],
  }),
  change({
    path: '/dead-letters/retry',
    id: 'retryDeadLetters',
    summary: 'Retry dead letters',
    description:
      'Publishes the records of the letters that wait to their topics again, all or those that the body names. May be repeated, also after a failure: an event that is there already is dropped. One retry runs at a time; another is 503.',
    body: body('RetryDeadLetters', { topic: 'events.accepted.v1', reason: 'row_refused' }),
    shown: {
      schema: 'DeadLettersRetried',
      description: 'What was published.',
      example: { retried: 12 },
    },
    errors: ['bad_json', 'invalid_field'],
  }),
  change({
    path: '/master-key/rotate',
    id: 'rotateMasterKey',
    summary: 'Encrypt every secret with the present master key',
    description:
      'For a service that has the new key in `TRIBUTARY_MASTER_KEY` and the one before in `TRIBUTARY_MASTER_KEY_OLD`. May be repeated, also after a failure; `/event` takes events meanwhile.',
    shown: {
      schema: 'MasterKeyRotated',
      description: 'How it ended.',
      example: { key_id: '1a2b3c4d', rotated: 12, unreadable: 0 },
    },
  }),
  read({
    path: '/status',
    id: 'getStatus',
    summary: 'State of consumers and bindings',
    shown: {
      schema: 'SystemStatus',
      description: 'The state now.',
      example: {
        ready: true,
        consumers: [{ name: 'event-writer', topic: 'events.accepted.v1', lag: 0, oldest_unwritten_ms: null }],
        bindings: { database: { status: 'ok', latency_ms: 1 }, queues: { status: 'ok', latency_ms: 2 } },
      },
    },
  }),
]
