import { parseArgs } from 'node:util'
import { stories } from './make/stories.ts'
import { firstDifference, readHistory, readOutcome, replay, writeHistory, writeOutcome } from './replay.ts'

const help = `testing/saved/main.ts COMMAND [NAME ...]     (all histories without a name)

  replay   runs histories, and shows the first answer that is not as it was saved
  record   runs histories, and saves what they answer
  make     writes histories anew as testing/saved/make tells them`

const { positionals } = parseArgs({ allowPositionals: true })
const [command, ...given] = positionals
const names = given.length > 0 ? given : [...stories.keys()]
const unknown = names.filter((name) => !stories.has(name))

async function run(name: string): Promise<boolean> {
  if (command === 'make') {
    writeHistory(name, stories.get(name)!())
    return true
  }
  const started = performance.now()
  const found = await replay(readHistory(name))
  const difference = command === 'record' ? null : firstDifference(readOutcome(name), found)
  if (command === 'record') writeOutcome(name, found)
  const result = difference ?? `${found.length} answers`
  console.info(`${name}: ${result}, ${Math.round((performance.now() - started) / 1000)} s`)
  return difference === null
}

if (!['replay', 'record', 'make'].includes(command ?? '') || unknown.length > 0) {
  console.error(unknown.length > 0 ? `No history is called ${unknown.join(', ')}.` : help)
  process.exitCode = 2
} else {
  for (const name of names) if (!(await run(name))) process.exitCode = 1
}
