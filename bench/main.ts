import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { basename, join } from 'node:path'
import type { Bench } from './bench.ts'

const help = `npm run bench -- NAME [options]

Runs one benchmark. Prints its figures as a table and writes them as JSON to bench/results/. The options of a benchmark
are in parentheses, with their defaults.
`

/** The file of each benchmark, by its name. */
const files = new Map(
  readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.bench.ts'))
    .map((file) => [basename(file, '.bench.ts'), join(import.meta.dirname, file)] as const)
    .toSorted(([a], [b]) => Number(a > b) - Number(a < b)),
)
const names = [...files.keys()]

async function load(name: string): Promise<Bench> {
  const { bench } = (await import(files.get(name) ?? '')) as { bench: Bench }
  return bench
}

async function list(): Promise<void> {
  console.info(help)
  for (const name of names) console.info(`  ${(await load(name)).title}`)
}

async function run(name: string, args: string[]): Promise<void> {
  const bench = await load(name)
  console.info(bench.title)
  const started_at = new Date().toISOString()
  const result = await bench.run(args)
  console.table(result.rows)
  console.table(result.aims)
  const folder = join(import.meta.dirname, 'results')
  mkdirSync(folder, { recursive: true })
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version }
  const file = join(folder, `${name}-${started_at.replaceAll(':', '')}.json`)
  writeFileSync(file, `${JSON.stringify({ name, args, started_at, machine, ...result }, null, 2)}\n`)
  console.info(`written to bench/results/${file.slice(folder.length + 1)}`)
}

const [name, ...args] = process.argv.slice(2)
if (name === undefined || name === '--help') await list()
else if (names.includes(name) && args.includes('--help')) console.info((await load(name)).title)
else if (names.includes(name)) await run(name, args)
else {
  console.error(`No benchmark is named ${name}. The benchmarks are: ${names.join(', ')}.`)
  process.exitCode = 2
}
