import type { Mutant } from '../mutant.ts'

const rules = 'packages/domain/src/accept/accept-event.ts'
const rule_tests = ['packages/domain/test/accept/accept-event.domain.test.ts']

/** What is accepted, and how it is refused. */
export const acceptMutants: readonly Mutant[] = [
  {
    rule: 'docs/rules.md#events',
    promise: 'an event may lie exactly 24 hours ahead',
    file: rules,
    from: 'event_ts_ms <= now_ms + limits.event_ts_ahead_ms_max',
    to: 'event_ts_ms < now_ms + limits.event_ts_ahead_ms_max',
    tests: rule_tests,
    only: '24 h ahead passes',
  },
  {
    rule: 'docs/rules.md#events',
    promise: 'the first millisecond of 2010 is accepted',
    file: rules,
    from: 'event_ts_ms >= limits.event_ts_ms_min',
    to: 'event_ts_ms > limits.event_ts_ms_min',
    tests: rule_tests,
    only: 'the first millisecond of 2010 passes',
  },
  {
    rule: 'docs/rules.md#events',
    promise: 'a revenue of exactly a billion is accepted',
    file: rules,
    from: 'Math.abs(value) <= limits.revenue_abs_max',
    to: 'Math.abs(value) < limits.revenue_abs_max',
    tests: rule_tests,
    only: 'a revenue of a billion passes, either way',
  },
  {
    rule: 'docs/rules.md#events',
    promise: 'an SDK event without its time is accepted',
    file: rules,
    from: "if (isEmpty(event_ts_ms) && (source !== 'sdk' || event_ts_ms === '')) return",
    to: 'if (isEmpty(event_ts_ms)) return',
    tests: rule_tests,
    only: 'an SDK event needs an id and may leave its time out',
  },
  {
    rule: 'docs/rules.md#which-code',
    promise: 'install, time and name are missed in this order',
    file: rules,
    from: `  if (isEmpty(install_uuid)) return missing('install_uuid')
  if (isEmpty(event_ts_ms) && (source !== 'sdk' || event_ts_ms === '')) return missing('event_ts_ms')`,
    to: `  if (isEmpty(event_ts_ms) && (source !== 'sdk' || event_ts_ms === '')) return missing('event_ts_ms')
  if (isEmpty(install_uuid)) return missing('install_uuid')`,
    tests: rule_tests,
    only: 'required fields are asked for in the order',
  },
  {
    rule: 'docs/rules.md#events',
    promise: 'an object has at most 8 levels',
    file: 'packages/domain/src/accept/bound-json.ts',
    from: 'if (depth_max === 0) return',
    to: 'if (depth_max < 0) return',
    tests: rule_tests,
    only: 'props of depth 9 are refused',
  },
  {
    rule: 'docs/rules.md#platform-rule',
    promise: 'a platform is compared in any case',
    file: 'packages/domain/src/accept/platform-rule.ts',
    from: 'value.toLowerCase() === other[platform]',
    to: 'value === other[platform]',
    tests: ['packages/domain/test/accept/platform-rule.domain.test.ts'],
  },
  {
    rule: 'docs/rules.md#allow-list',
    promise: 'an empty list allows every name',
    file: 'packages/domain/src/accept/allow-list.ts',
    from: 'if (allowed_events.length === 0) return null',
    to: 'if (allowed_events === null) return null',
    tests: ['services/ingest-gateway/test/s2s.service.test.ts'],
  },
  {
    rule: 'docs/rules.md#currencies',
    promise: 'XTS and XXX are no money',
    file: 'packages/contracts/src/currencies.ts',
    from: 'XPD XPF XPT XSU XUA YER',
    to: 'XPD XPF XPT XSU XTS XUA XXX YER',
    tests: rule_tests,
    only: 'the code for tests is no currency',
  },
  {
    rule: 'docs/rules.md#acknowledgement',
    promise: '200 waits for the audit object',
    file: 'packages/gateway/src/durable.ts',
    from: "const stored = await audit.catch(refuse('audit_write_failed'))",
    to: "const stored = audit.catch(refuse('audit_write_failed'))",
    tests: ['packages/gateway/test/durable.domain.test.ts'],
  },
  {
    rule: 'docs/rules.md#acknowledgement',
    promise: '200 waits for the log',
    file: 'packages/gateway/src/durable.ts',
    from: 'if (records.length > 0) await broker.publish(records)',
    to: 'if (records.length > 0) void broker.publish(records)',
    tests: ['packages/gateway/test/durable.domain.test.ts'],
  },
  {
    rule: 'docs/rules.md#order-of-checks',
    promise: 'an empty body is answered before wrong keys',
    file: 'packages/gateway/src/sdk-keys.ts',
    from: `  if (ingest.bytes === 0) throw new CodedError('empty_body')
  if (sender === null || sender instanceof Error) throw sender ?? new Error('the keys were not looked up')`,
    to: `  if (sender === null || sender instanceof Error) throw sender ?? new Error('the keys were not looked up')
  if (ingest.bytes === 0) throw new CodedError('empty_body')`,
    tests: ['services/ingest-gateway/test/event.service.test.ts'],
    only: 'the first fault of the order wins, whatever else is wrong',
  },
  {
    rule: 'docs/rules.md#signature',
    promise: 'a signature in upper case is wrong',
    file: 'packages/gateway/src/sdk-keys.ts',
    from: "const given = Buffer.from(signature, 'latin1')",
    to: "const given = Buffer.from(signature.toLowerCase(), 'latin1')",
    tests: ['services/ingest-gateway/test/event.service.test.ts'],
    only: 'bad_signature',
  },
  {
    rule: 'docs/rules.md#credentials',
    promise: 'an app of another company is refused',
    file: 'packages/gateway/src/sdk-keys.ts',
    from: 'if (app.company_id !== company.company_id) throw',
    to: 'if (app.company_id === null) throw',
    tests: ['services/ingest-gateway/test/event.service.test.ts'],
    only: 'app_company_mismatch',
  },
  {
    rule: 'docs/rules.md#credentials',
    promise: 'a key without the scope uses up its rate',
    file: 'packages/gateway/src/server-key.ts',
    from: `  const { headers, refusal } = await keyRate.spend(key.key_id)`,
    to: `  if (!key.scopes.includes(rule.scope)) throw new CodedError('scope_missing', { message: rule.scope_missing })
  const { headers, refusal } = await keyRate.spend(key.key_id)`,
    tests: ['services/ingest-gateway/test/s2s.service.test.ts', 'services/report-api/test/refusals.service.test.ts'],
  },
  {
    rule: 'docs/rules.md#bodies',
    promise: 'bytes behind the last gzip member are refused',
    file: 'services/ingest-gateway/src/judge/read-body.ts',
    from: 'if (engine.bytesWritten !== wire.length) throw',
    to: 'if (engine.bytesWritten > wire.length) throw',
    tests: ['services/ingest-gateway/test/event.service.test.ts'],
    only: 'bad_gzip',
  },
  {
    rule: 'docs/rules.md#credentials-in-memory',
    promise: 'known credentials end 10 minutes after their query',
    file: 'packages/tenancy/src/credentials/cached-lookup.ts',
    from: 'now() - entry.loaded_at < limits.credentials_stale_ms_max',
    to: 'now() - entry.fresh_until < limits.credentials_stale_ms_max',
    tests: ['packages/tenancy/test/credentials/cached-lookup.domain.test.ts'],
  },
  {
    rule: 'docs/rules.md#secrets-at-rest',
    promise: 'a secret is bound to its purpose, company and app',
    file: 'packages/tenancy/src/secrets/master-keys.ts',
    from: 'JSON.stringify([purpose, company_id, app_id, ',
    to: 'JSON.stringify([company_id, app_id, ',
    tests: ['packages/tenancy/test/secrets/master-keys.domain.test.ts'],
  },
  {
    rule: 'docs/rules.md#secrets-at-rest',
    promise: 'a log line holds no server key',
    file: 'packages/service-kit/src/service/redact.ts',
    from: '[/srv_[0-9a-f]{48}/g,',
    to: '[/srv_[0-9a-f]{49}/g,',
    tests: ['packages/service-kit/test/service/redact.domain.test.ts'],
  },
  {
    rule: 'docs/rules.md#admin-token',
    promise: 'the right token passes whatever was guessed before',
    file: 'packages/admin-http/src/require-admin.ts',
    from: `    if (timingSafeEqual(hash('sha256', token, 'buffer'), expected)) return
    countRefusal({ ip: request.client_ip })
    const wait_ms = countGuess(addressBlock(request.client_ip))`,
    to: `    const wait_ms = countGuess(addressBlock(request.client_ip))
    if (timingSafeEqual(hash('sha256', token, 'buffer'), expected) && wait_ms === 0) return
    countRefusal({ ip: request.client_ip })`,
    tests: ['services/admin-api/test/admin-guesses.service.test.ts'],
  },
  {
    rule: 'docs/rules.md#admin-addresses',
    promise: 'a page of another site does not reach the admin API',
    file: 'packages/service-kit/src/http/admin-fence.ts',
    from: 'if (origin === undefined || isOwn(originOf(origin), socket)) return null',
    to: 'if (origin !== null) return null',
    tests: ['packages/service-kit/test/http/admin-fence.service.test.ts'],
  },
  {
    rule: 'docs/rules.md#disk',
    promise: 'a full disk is a reason to refuse until a quarter more is free',
    file: 'packages/service-kit/src/service/disk-watch.ts',
    from: "(was === 'full' ? floor * hysteresis : floor)",
    to: 'floor',
    tests: ['packages/service-kit/test/service/disk-watch.service.test.ts'],
  },
]

/** Quota, rates, counters that are away. */
export const quotaMutants: readonly Mutant[] = [
  {
    rule: 'docs/rules.md#quota',
    promise: 'a company without quota left is refused whatever the request holds',
    file: 'packages/tenancy/src/quota/take-all.ts',
    from: 'one.n === 0 && one.cap !== null && total >= one.cap',
    to: 'one.n === 0 && one.cap !== null && total > one.cap',
    tests: ['packages/tenancy/test/quota/quota.service.test.ts'],
  },
  {
    rule: 'docs/rules.md#bytes-of-a-month',
    promise: 'copies of an event count by their bytes, padded or not',
    file: 'services/ingest-gateway/src/judge/read-body.ts',
    from: 'Math.max(body.length, wire.length)',
    to: 'body.length',
    tests: ['services/ingest-gateway/test/quota.service.test.ts'],
  },
  {
    rule: 'docs/rules.md#quota',
    promise: 'a request that fails gives its events back',
    file: 'packages/gateway/src/under-quota.ts',
    from: 'await reservation.giveBack()',
    to: '',
    tests: ['services/ingest-gateway/test/quota.service.test.ts'],
    only: 'what a failed request had reserved is given back, on every route',
  },
  {
    rule: 'docs/rules.md#quota',
    promise: 'duplicates inside a request count once, also on neighbouring days',
    file: 'packages/domain/src/accept/count-once.ts',
    from: 'Math.abs(other - day) <= 1',
    to: 'other === day',
    tests: ['packages/domain/test/accept/count-once.domain.test.ts'],
  },
  {
    rule: 'docs/rules.md#requests-of-a-key',
    promise: 'a request leaves the window after exactly 60 seconds',
    file: 'packages/key-value/src/sliding-window.ts',
    from: 'hit > now_ms - window_ms',
    to: 'hit >= now_ms - window_ms',
    tests: [
      'packages/key-value/test/embedded-key-value.service.test.ts',
      'packages/key-value/test/embedded-key-value.contract.test.ts',
    ],
  },
  {
    rule: 'docs/rules.md#requests-of-a-key',
    promise: 'requests from a clock that was ahead are forgotten',
    file: 'packages/key-value/src/sliding-window.ts',
    from: 'while (hits.length > 0 && hits.at(-1)! > now_ms) hits.pop()',
    to: '',
    tests: [
      'packages/key-value/test/embedded-key-value.service.test.ts',
      'packages/key-value/test/embedded-key-value.contract.test.ts',
    ],
  },
  {
    rule: 'docs/rules.md#counters-that-are-away',
    promise: 'no rate holds while the counters are away',
    file: 'packages/tenancy/src/quota/key-rate.ts',
    from: `        missed.inc()
        return { headers: {}, refusal: null }`,
    to: `        missed.inc()
        throw new CodedError('unavailable')`,
    tests: ['packages/tenancy/test/quota/key-rate.service.test.ts'],
  },
]
