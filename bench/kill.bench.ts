import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runKills } from '@tributary/testing/standalone/kill-run'
import { type Bench, numberArgument } from './bench.ts'

/** The long form of the kill test of `npm test`. */
export const bench: Bench = {
  name: 'kill',
  title: 'kill: acknowledged against stored events after kill -9 at random moments (--kills 20)',
  async run(args) {
    const data_dir = mkdtempSync(join(tmpdir(), 'tributary-bench-kill-'))
    const kills = numberArgument(args, 'kills', 20)
    try {
      const result = await runKills({ data_dir, kills, clients: 8, alive_ms_max: 4000, random: Math.random })
      const { rollups, differing, ...figures } = result
      const groups = Object.values(differing).reduce((sum, n) => sum + n, 0)
      const wrong = result.lost + result.doubled + result.half + groups
      return {
        rows: [{ ...figures, ...rollups, differing: groups }],
        aims: [{ what: 'lost, doubled, half, differing roll-ups', aim: '0', measured: wrong, met: wrong === 0 }],
      }
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  },
}
