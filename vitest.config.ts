import { defineConfig } from 'vitest/config'

/** One project per test ring (docs: CONTRIBUTING.md). A file's ring is the word before `.test.ts`. */
const rings = ['domain', 'service', 'contract', 'clickhouse', 'failure', 'whole']

export default defineConfig({
  test: {
    projects: rings.map((ring) => ({
      test: {
        name: ring,
        include: [`{packages,services,examples,testing,tools,infra,bench}/**/test/**/*.${ring}.test.ts`],
        // chdb allows one engine a process.
        pool: 'forks' as const,
        testTimeout: ring === 'domain' ? 20_000 : 120_000,
        hookTimeout: 120_000,
      },
    })),
    maxWorkers: 2,
  },
})
