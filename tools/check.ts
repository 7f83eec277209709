import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { generated } from './generated.ts'

type Check = [what: string, command: string, ...args: string[]]

const checks: Check[] = [
  ['types', 'tsc', '--noEmit', '-p', '.'],
  ['types of the panel', 'tsc', '--noEmit', '-p', 'packages/panel'],
  ['format and lint', 'biome', 'ci', '--error-on-warnings', '--colors=off', '.'],
  ['unused code and dependencies', 'knip'],
  // Services that tests start find this build, and do not make one each.
  ['build of the panel', 'node', 'packages/panel/server/build.ts'],
  ...generated.map(([what, program]): Check => [what, 'node', program, '--check']),
]

const help = `npm run check

Checks types, format, lint, unused code and generated files, and builds the panel. Shows all problems, not only the first.
npm run format fixes format and lint. npm run dump writes the generated files.`

interface Outcome {
  what: string
  passed: boolean
  output: string
}

function run([what, command, ...args]: Check): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.on('data', (text) => {
    output += text
  })
  child.stderr.on('data', (text) => {
    output += text
  })
  child.on('error', (error) => resolve({ what, passed: false, output: error.message }))
  child.on('close', (code) => resolve({ what, passed: code === 0, output }))
  return promise
}

async function checkAll(): Promise<boolean> {
  const waiting = [...checks]
  const outcomes: Outcome[] = []
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const outcome = await run(next)
      outcomes.push(outcome)
      console.info(`${outcome.passed ? 'ok  ' : 'FAIL'} ${outcome.what}`)
    }
  }
  await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, worker))
  for (const { what, output } of outcomes.filter(({ passed }) => !passed))
    console.error(`\n--- ${what}\n${output.trim()}`)
  return outcomes.every(({ passed }) => passed)
}

if (process.argv.includes('--help')) console.info(help)
else process.exitCode = (await checkAll()) ? 0 : 1
