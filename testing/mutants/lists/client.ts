import type { Mutant } from '../mutant.ts'

/** The client of apps and backends. */
export const clientMutants: readonly Mutant[] = [
  {
    rule: 'packages/client/README.md#what-it-promises',
    promise: 'a request timeout is tried again',
    file: 'packages/client/src/retry.ts',
    from: 'status === 408 || ',
    to: '',
    tests: [
      'packages/client/test/sdk/sdk-client-retries.service.test.ts',
      'packages/client/test/server-client.service.test.ts',
    ],
  },
  {
    rule: 'packages/client/README.md#what-it-promises',
    promise: 'events of a suspended company wait',
    file: 'packages/client/src/sdk/sdk-sender.ts',
    from: "(status === 401 && code === 'company_suspended')",
    to: 'false',
    tests: ['packages/client/test/sdk/sdk-client-retries.service.test.ts'],
  },
  {
    rule: 'packages/client/README.md#what-it-promises',
    promise: 'Retry-After holds for flush too',
    file: 'packages/client/src/sdk/sdk-sender.ts',
    from: 'if (performance.now() >= this.#not_before_ms) await this.#drain()',
    to: 'await this.#drain()',
    tests: ['packages/client/test/sdk/sdk-client-retries.service.test.ts'],
  },
]
