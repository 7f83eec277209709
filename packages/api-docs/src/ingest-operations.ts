import type { ErrorCode } from '@tributary/contracts/errors'
import type { Operation, Parameter } from './operation.ts'

const install_uuid = '0b8f5c1e-2f64-4c7b-a1de-93f1f5f0a9c3'
const event_id = '5f0c1d9e-7a41-4c1b-9f3e-0d7f1c2a9b10'
const event_ts_ms = Date.UTC(2026, 5, 1, 12)

const encoding: Parameter = {
  name: 'Content-Encoding',
  in: 'header',
  description: '`gzip` or `identity`. Several gzip members are one body.',
  schema: { type: 'string', enum: ['gzip', 'identity'] },
}
const sdkHeaders: Parameter[] = [
  encoding,
  {
    name: 'X-Service-Sdk',
    in: 'header',
    description: '`<brand>-<version>` of the SDK; stored with the events.',
    schema: { type: 'string' },
    example: 'example-2.1.0',
  },
  {
    name: 'X-Service-Platform',
    in: 'header',
    description: 'Platform of the SDK; stored with the events, never trusted.',
    schema: { type: 'string' },
    example: 'android',
  },
]

const sdkErrors: ErrorCode[] = [
  'missing_auth_headers',
  'body_too_large',
  'request_timeout',
  'empty_body',
  'unknown_company_key',
  'unknown_app_key',
  'company_suspended',
  'app_company_mismatch',
  'bad_signature',
  'unsupported_encoding',
  'bad_gzip',
  'decompressed_too_large',
  'bad_json',
  'audit_write_failed',
]
const serverErrors: ErrorCode[] = [
  'missing_bearer_token',
  'unknown_or_revoked_key',
  'company_suspended',
  'scope_missing',
  'rate_limited',
  'body_too_large',
  'request_timeout',
  'unsupported_encoding',
  'bad_gzip',
  'bad_json',
  's2s_app_platform_mismatch',
  'event_not_allowed_by_key',
  'cap_exceeded',
  'audit_write_failed',
]

const level = { event_id, event_name: 'level_up', event_ts_ms, install_uuid, props: { level: 3 } }
const renewal = {
  event_id: 'renewal-1',
  event_name: 'subscription_renewed',
  event_ts_ms,
  install_uuid,
  user_id: 'user-17',
  revenue: 9.99,
  currency: 'EUR',
  transaction_id: 'GPA.1',
  product_id: 'gold_monthly',
}
const purchase = { ...renewal, event_id: 'purchase-1', event_name: 'purchase', transaction_id: 'GPA.2' }

const event: Operation = {
  method: 'post',
  path: '/event',
  id: 'sendBatch',
  tag: 'Events',
  summary: 'A batch of events from an app',
  description: [
    '`X-Service-Signature` is the lower-case hex HMAC-SHA256 of the exact bytes of the body, keyed with the signing secret of',
    'the app (its UTF-8 text). With gzip these are the compressed bytes. The answer is 200 once the credentials, the encoding',
    'and the shape are good, also when events are rejected; then every accepted event is durable.',
    '',
    'At most 500 events, 1 MiB on the wire, 8 MiB inflated. Compress from 10 events on. What is sent again counts once,',
    'if it has its `event_ts_ms`: without it, only for a day.',
  ].join('\n'),
  auth: 'sdk',
  parameters: sdkHeaders,
  body: {
    schema: 'SdkBatch',
    description: 'JSON, gzipped or not. An event that is wrong is rejected alone.',
    examples: {
      'one event': { events: [level], sent_at_ms: event_ts_ms + 1000 },
      'an install': {
        events: [
          {
            event_id: 'install-1',
            event_name: 'app_install',
            event_ts_ms,
            install_uuid,
            device: { os: 'android', os_version: '14' },
          },
          { event_id: 'alias-1', event_name: '_user_alias', event_ts_ms, install_uuid, user_id: 'user-17' },
        ],
        sent_at_ms: event_ts_ms + 1000,
      },
    },
  },
  answers: {
    200: {
      description: 'Every accepted event is in the audit store and in the log.',
      schema: 'BatchReply',
      example: {
        accepted: 1,
        rejected: 1,
        results: [
          { event_id, status: 'accepted' },
          { event_id: 'e-2', status: 'rejected', reason: 'invalid_field', field: 'revenue' },
        ],
        audit_key: 'audit/2026/06/01/co_1/app_1/1780315201000-1f2e-0.jsonl.gz',
      },
    },
  },
  errors: [...sdkErrors, 'bad_batch_shape', 'cap_exceeded'],
  quota: true,
  signed: true,
}

const serverEvent: Operation = {
  method: 'post',
  path: '/s2s/event',
  id: 'sendServerEvent',
  tag: 'Events',
  summary: 'One event from a backend',
  description:
    'Give each event an `event_id`, so that it can be sent again; without one the service makes one and no retry is safe. Choose ids that a device cannot know. At most 256 KiB, inflated too.',
  auth: 'server_key',
  parameters: [encoding],
  body: {
    schema: 'ServerEvent',
    description: 'JSON, gzipped or not.',
    examples: { 'a renewal': renewal, 'a purchase': purchase },
  },
  answers: {
    200: {
      description: 'The event is in the audit store and in the log.',
      schema: 'ServerEventReply',
      example: { accepted: 1, event_id: 'renewal-1', audit_key: 's2s/2026-06-01/renewal-1.json' },
    },
  },
  errors: [
    ...serverErrors,
    'install_uuid_required',
    'event_ts_ms_required',
    'event_name_required',
    'event_ts_ms_out_of_range',
    'bad_event_id',
    'invalid_field',
  ],
  quota: true,
}

const serverBulk: Operation = {
  method: 'post',
  path: '/s2s/events/bulk',
  id: 'sendServerEvents',
  tag: 'Events',
  summary: 'Up to 1000 events from a backend',
  description:
    'For backfills. One result an event; what is sent again counts once. An event of the other platform, or one that the key does not allow, refuses the whole request. At most 8 MiB, inflated too. Counts as one request of the key.',
  auth: 'server_key',
  parameters: [encoding],
  body: {
    schema: 'ServerBulk',
    description: 'JSON, gzipped or not.',
    examples: { 'two events': { events: [renewal, purchase] } },
  },
  answers: {
    200: {
      description: 'Every accepted event is in the audit store and in the log.',
      schema: 'BatchReply',
      example: {
        accepted: 1,
        rejected: 1,
        results: [
          { event_id: 'renewal-1', status: 'accepted' },
          { event_id: null, status: 'rejected', reason: 'missing_required_fields', field: 'install_uuid' },
        ],
        audit_key: 's2s/bulk/2026-06-01/019e8350-9a00-7000-8000-000000000000.json',
      },
    },
  },
  errors: [...serverErrors, 'too_many_events'],
  quota: true,
}

const erasure: Operation = {
  method: 'post',
  path: '/privacy/delete',
  id: 'askForErasure',
  tag: 'Privacy',
  summary: 'Ask that an install be erased (nothing is erased yet)',
  description:
    'Signed like `/event`, with the same limits of the body. Records the request that all of the install that was received until now be erased. While a request for the install is queued, another one is answered alike and stores nothing new; an app may make 100 new requests in any 60 s. This version keeps requests and erases nothing.',
  auth: 'sdk',
  parameters: sdkHeaders,
  body: { schema: 'ErasureAsked', description: 'JSON, gzipped or not.', examples: { 'an install': { install_uuid } } },
  answers: {
    202: { description: 'The request is durable.', schema: 'ErasureReply', example: { ok: true, queued: true } },
  },
  errors: [...sdkErrors, 'install_uuid_required', 'invalid_field', 'rate_limited'],
}

/** The routes of the ingest gateway. */
export const ingestOperations: readonly Operation[] = [event, serverEvent, serverBulk, erasure]
