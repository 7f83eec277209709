import { isDeepStrictEqual, parseArgs } from 'node:util'
import { runSimulation } from './run-simulation.ts'

const help = `npm run simulate -- [options]

Simulates ten partners and the people around them: clean ones, one that floods, one that injects clicks into installations
that have begun, bots, visitors of honeypots, a farm of phones, forgers. Runs their clicks and installs through the consumers
of attribution, and compares the attribution report with what the simulator did, and each flag with who deserves it.

  --days N      days of the history (6)
  --acts N      acts of the largest behaviour on each day; at least 60 (450)
  --flood N     clicks of a day of flooding, every other day (7000)
  --seed N      another seed makes another history (1)

The defaults make about 50000 clicks and 20000 installs. Exit code 1 when a report is not what was done.`

const { values } = parseArgs({
  options: {
    days: { type: 'string', default: '6' },
    acts: { type: 'string', default: '450' },
    flood: { type: 'string', default: '7000' },
    seed: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
})

async function main(): Promise<number> {
  const { clicks, installs, seconds, reports, flags } = await runSimulation({
    ...{ seed: Number(values.seed), days: Number(values.days), acts: Number(values.acts) },
    ...{ flood_clicks: Number(values.flood), log: (line) => process.stderr.write(`${line}\n`) },
  })
  console.table(flags)
  const wrong = reports.filter(({ found, expected }) => !isDeepStrictEqual(found, expected))
  for (const { app, found, expected } of wrong) {
    console.info(`${app}: the report says, and the simulator did`)
    console.table(found.filter((row) => !expected.some((other) => isDeepStrictEqual(row, other))))
    console.table(expected.filter((row) => !found.some((other) => isDeepStrictEqual(row, other))))
  }
  console.info(`${clicks} clicks, ${installs} installs, ${Math.round(seconds)} s`)
  console.info(wrong.length === 0 ? 'The reports say what was done.' : 'WRONG: a report differs from what was done.')
  return wrong.length === 0 ? 0 : 1
}

if (values.help) console.info(help)
else process.exitCode = await main()
