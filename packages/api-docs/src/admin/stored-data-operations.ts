import type { Operation } from '../operation.ts'
import { body, change, read } from './admin-operation.ts'

/** The routes of exchange rates, audit objects and replays. */
export const storedDataOperations: readonly Operation[] = [
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
]
