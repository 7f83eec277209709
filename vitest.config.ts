import { totalmem } from 'node:os'
import { defineConfig } from 'vitest/config'
import RingOrder, { rings } from './tools/runner/ring-order.ts'

/** Ends a test or hook that hangs. A machine may stand still for minutes, so it is far from what any of them takes. */
const hang_ms = 300_000

export default defineConfig({
  test: {
    // One for each ring (CONTRIBUTING.md#tests). The ring of a file is the word before `.test.ts`.
    projects: rings.map((ring) => ({
      test: {
        name: ring,
        setupFiles: [
          './tools/runner/note-worker.ts',
          ...(process.env.TRIBUTARY_TEST_SEED ? ['./tools/runner/fixed-seed.ts'] : []),
        ],
        include: [
          `{packages,services,examples,testing,tools,infra,bench}/**/test/**/*.${ring}.test.ts`,
          `testing/stories/**/*.${ring}.test.ts`,
        ],
        // chdb allows one engine a process.
        pool: 'forks' as const,
        // Node reads TypeScript itself: no file is transformed, and each process takes what an earlier one compiled (NODE_COMPILE_CACHE).
        experimental: { viteModuleRunner: false, nodeLoader: false },
        // Files of the other rings share processes, which import the code and load the engine once. A test gives back what it changes
        // outside of itself.
        isolate: ring === 'failure' || ring === 'whole' || ring === 'prove',
        restoreMocks: true,
        unstubEnvs: true,
        testTimeout: ring === 'domain' ? 120_000 : hang_ms,
        hookTimeout: hang_ms,
        expect: { poll: { timeout: 180_000 } },
      },
    })),
    sequence: { sequencer: RingOrder },
    // One more than cores, since tests wait for engines and processes; each may have a fleet of them in memory.
    maxWorkers: totalmem() >= 16 * 2 ** 30 ? 3 : 2,
  },
})
