// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code
import type { Mutant } from '../mutant.ts'

/** Clicks on tracking links. */
export const linkMutants: readonly Mutant[] = [
  {
    rule: 'docs/rules.md#tracking-links',
    promise: 'a bot in a datacenter is a bot',
    file: 'packages/domain/src/link/redirect.ts',
    from: `  if (visitor.agent === 'bot') return 'bot'
  if (visitor.datacenter) return 'datacenter'`,
    to: `  if (visitor.datacenter) return 'datacenter'
  if (visitor.agent === 'bot') return 'bot'`,
    tests: ['packages/domain/test/link/redirect.domain.test.ts'],
  },
  {
    rule: 'docs/rules.md#tracking-links',
    promise: 'an address without a country is outside the countries of a link',
    file: 'packages/domain/src/link/redirect.ts',
    from: "!countries.includes(visitor.country ?? '')",
    to: 'visitor.country !== null && !countries.includes(visitor.country)',
    tests: ['packages/domain/test/link/redirect.domain.test.ts'],
  },
  {
    rule: 'docs/rules.md#tracking-links',
    promise: 'a network has a window of clicks for each company',
    file: 'services/link-gateway/src/guards.ts',
    from: '`${what}:${company_id}:${addressNetwork(ip)}`',
    to: '`${what}:${addressNetwork(ip)}`',
    tests: [
      'services/link-gateway/test/link.service.test.ts',
      'services/link-gateway/test/stopped-clicks.service.test.ts',
    ],
  },
  {
    rule: 'docs/rules.md#stopped-clicks',
    promise: 'what a page loads by itself blocks nobody',
    file: 'services/link-gateway/src/link-route.ts',
    from: 'if (can_be_navigation) await guards.block(link.company_id, ip)',
    to: 'await guards.block(link.company_id, ip)',
    tests: ['services/link-gateway/test/honeypot.service.test.ts'],
  },
  {
    rule: 'docs/rules.md#stopped-clicks',
    promise: 'a further hit begins the 24 hours anew',
    file: 'services/link-gateway/src/guards.ts',
    from: 'await step(() => keyValue.remove(key))',
    to: '',
    tests: ['services/link-gateway/test/honeypot.service.test.ts'],
  },
  {
    rule: 'docs/rules.md#stopped-clicks',
    promise: 'a filtered click uses up no click of people',
    file: 'services/link-gateway/src/guards.ts',
    from: "hit('filtered-clicks', company_id, ip)",
    to: "hit('clicks', company_id, ip)",
    tests: [
      'services/link-gateway/test/link.service.test.ts',
      'services/link-gateway/test/stopped-clicks.service.test.ts',
    ],
  },
]

/** Postbacks of Apple, from the door to the judge. */
export const postbackMutants: readonly Mutant[] = [
  {
    rule: 'docs/rules.md#proof-of-postbacks',
    promise: '3.0 signs fidelity-type before did-win',
    file: 'packages/domain/src/postback/skan-fields.ts',
    from: "[...v2, 'fidelity-type', 'did-win']",
    to: "[...v2, 'did-win', 'fidelity-type']",
    tests: ['packages/domain/test/postback/skan.domain.test.ts'],
  },
  {
    rule: 'docs/rules.md#proof-of-postbacks',
    promise: 'a field that must be signed must be there',
    file: 'packages/domain/src/postback/skan-fields.ts',
    from: "const optional: readonly SkanField[] = ['source-app-id', 'source-domain']",
    to: "const optional: readonly SkanField[] = ['source-app-id', 'source-domain', 'fidelity-type']",
    tests: ['packages/domain/test/postback/skan.domain.test.ts'],
  },
  {
    rule: 'docs/rules.md#proof-of-postbacks',
    promise: 'an object with a name twice is invalid',
    file: 'packages/domain/src/postback/skan.ts',
    from: "if (has_doubles) return { code: 'duplicate_field' }",
    to: '',
    tests: ['packages/domain/test/postback/skan.domain.test.ts'],
  },
  {
    rule: 'docs/rules.md#proof-of-postbacks',
    promise: 'a conversion-type that nobody knows counts as nothing',
    file: 'packages/domain/src/postback/aak.ts',
    from: 'type === null || conversionTypes.has(type) ?',
    to: 'type !== undefined ?',
    tests: ['packages/domain/test/postback/aak.domain.test.ts'],
  },
  {
    rule: 'docs/rules.md#postbacks',
    promise: 'bytes whose storing failed are not remembered',
    file: 'services/postback-gateway/src/store-once.ts',
    from: 'if (claimed) await giveBack(digest)\n      throw error',
    to: 'await counters(() => keyValue.addCapped(`postback:${digest}`, 1, null, limits.postback_remembered_ms))\n      throw error',
    tests: [
      'services/postback-gateway/test/postback.service.test.ts',
      'services/postback-gateway/test/store-once.service.test.ts',
    ],
  },
  {
    rule: 'docs/rules.md#budgets-of-postbacks',
    promise: 'a postback that could not be stored uses up nothing',
    file: 'services/postback-gateway/src/receive-postbacks.ts',
    from: '        await giveBack()\n',
    to: '',
    tests: ['services/postback-gateway/test/budget.service.test.ts'],
  },
  {
    rule: 'docs/rules.md#budgets-of-postbacks',
    promise: 'beyond a budget only a valid postback is stored',
    file: 'services/postback-gateway/src/budget.ts',
    from: "if (verdict !== 'valid') return null",
    to: "if (verdict === 'invalid') return null",
    tests: ['services/postback-gateway/test/budget.service.test.ts'],
  },
  {
    rule: 'docs/rules.md#who-wins',
    promise: 'the first valid postback that was received wins',
    file: 'services/postback-writer/src/beaten-claims.ts',
    from: "const place = 'received_at_ms, toString(topic), partition, offset'",
    to: "const place = '-received_at_ms, toString(topic), partition, offset'",
    tests: ['services/postback-writer/test/beaten-claims.clickhouse.test.ts'],
    only: 'batches mark exactly the beaten claims',
  },
  {
    rule: 'docs/rules.md#judged-again',
    promise: 'a postback keeps its received time',
    file: 'services/postback-writer/src/judge-again.ts',
    from: 'const times = { received_at_ms, judged_at_ms }',
    to: 'const times = { received_at_ms: judged_at_ms, judged_at_ms }',
    tests: ['services/postback-writer/test/judge-again.clickhouse.test.ts'],
    only: 'what no known key could verify is judged by a new one',
  },
  {
    rule: 'docs/rules.md#conversion-value-schema',
    promise: 'bands that touch do not overlap',
    file: 'packages/domain/src/postback/schema-faults.ts',
    from: 'max <= next.min',
    to: 'max < next.min',
    tests: ['packages/domain/test/postback/cv-schema.domain.test.ts'],
  },
  {
    rule: 'docs/rules.md#version-that-decodes',
    promise: 'a version that is published at the earliest install decodes',
    file: 'packages/domain/src/postback/cv-schema.ts',
    from: 'published_at_ms <= earliest_ms',
    to: 'published_at_ms < earliest_ms',
    tests: ['packages/domain/test/postback/cv-schema.domain.test.ts'],
  },
]
