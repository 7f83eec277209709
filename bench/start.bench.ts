import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startStandaloneProcess } from '@tributary/testing/standalone/standalone-process'
import type { Bench } from './bench.ts'

const runs = 3

/** Measures the time from start to ready, on an empty and on a used data folder. */
export const bench: Bench = {
  name: 'start',
  title: 'start: seconds from `npm start` to ready, first and later starts',
  async run() {
    const data_dir = mkdtempSync(join(tmpdir(), 'tributary-bench-start-'))
    const rows: Record<string, string | number>[] = []
    try {
      for (let run = 0; run <= runs; run += 1) {
        const started = performance.now()
        const standalone = await startStandaloneProcess({ data_dir })
        rows.push({ start: run === 0 ? 'first' : 'later', seconds: (performance.now() - started) / 1000 })
        await standalone.stop('SIGTERM')
      }
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
    const slowest = Math.max(...rows.slice(1).map(({ seconds }) => Number(seconds)))
    return { rows, aims: [{ what: 'second start to ready, s', aim: '<= 6', measured: slowest, met: slowest <= 6 }] }
  },
}
