import { type DiskKind, mountSmallDisk } from '@tributary/testing/engines/small-disk'
import { runFullDisk } from '@tributary/testing/standalone/full-disk-run'
import { type Bench, type BenchRow, numberArgument } from './bench.ts'

/** The long form of the full-disk test of `npm test`: both kinds of disk, with stopped and with killed processes. */
export const bench: Bench = {
  name: 'disk-full',
  title: 'disk-full: acknowledged against stored events after the disk was full (--rounds 5, --disk-mb 700), as root',
  async run(args) {
    const rounds = numberArgument(args, 'rounds', 5)
    const disk_bytes = numberArgument(args, 'disk-mb', 700) * 1024 * 1024
    const rows: BenchRow[] = []
    for (const kind of ['ext4', 'tmpfs'] as const) {
      for (const signal of ['SIGTERM', 'SIGKILL'] as const) rows.push(await runOn(kind, disk_bytes, rounds, signal))
    }
    const wrong = rows.reduce((sum, { lost, doubled, half, differing }) => {
      return sum + [lost, doubled, half, differing].reduce<number>((all, one) => all + Number(one), 0)
    }, 0)
    return {
      rows,
      aims: [{ what: 'lost, doubled, half, differing roll-ups', aim: '0', measured: wrong, met: wrong === 0 }],
    }
  },
}

async function runOn(kind: DiskKind, bytes: number, rounds: number, signal: NodeJS.Signals): Promise<BenchRow> {
  const disk = await mountSmallDisk(bytes, kind)
  if (disk === null) throw new Error(`${kind} could not be mounted: run it as root`)
  try {
    const result = await runFullDisk({ disk, rounds, clients: 8, batches: 150, signal, random: Math.random })
    const { acknowledged, in_events_raw, lost, doubled, half, errors } = result
    const differing = Object.values(result.differing).reduce((sum, n) => sum + n, 0)
    return { kind, signal, rounds, acknowledged, in_events_raw, lost, doubled, half, differing, errors: errors.length }
  } finally {
    await disk.close()
  }
}
