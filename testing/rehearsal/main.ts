import { parseArgs } from 'node:util'
import { EngineUnavailable } from '../engines/engine.ts'
import { rehearse } from './rehearse.ts'

const help = `npm run rehearse -- [options]

Rehearses the loss of ClickHouse and of PostgreSQL on a running fleet, as docs/backup.md says, with the commands of an operator. All services
run as processes on real Kafka, Redis, S3 and PostgreSQL and a shared ClickHouse engine. Clients send events, clicks, installs and postbacks
all the time. PostgreSQL is backed up. The log forgets what it has of then, as it does after seven days. ClickHouse is killed and its disk
emptied, then brought back with "tributary migrate" and "tributary replay --from-audit". Then PostgreSQL is killed and its disk emptied, then
brought back from the backup. At the end all that is stored is compared with all that was sent.

  --rate N     events a second that clients send (200)
  --events N   events that clients send between two steps (2000)
  --json       print exactly one JSON document on stdout: {steps: [{step, at_s, took_s, answer}], compared: [{what, expected, found}]}

Exit code 1 when something differs.`

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '200' },
    events: { type: 'string', default: '2000' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const number = (name: 'rate' | 'events'): number => {
  const value = Number(values[name])
  if (!(value >= 1)) throw new Error(`--${name} needs a number of at least 1`)
  return value
}

async function run(): Promise<number> {
  const log = (line: string) => void process.stderr.write(`${line}\n`)
  const { exact, ...result } = await rehearse({ events_per_second: number('rate'), events: number('events'), log })
  if (values.json) console.info(JSON.stringify(result))
  else {
    for (const { what, expected, found } of result.compared)
      console.info(
        `${expected === found ? 'right' : 'WRONG'}  ${what}: ${found}${expected === found ? '' : `, not ${expected}`}`,
      )
    console.info(exact ? 'All that was sent is there, once.' : 'WRONG: see above.')
  }
  return exact ? 0 : 1
}

if (values.help) console.info(help)
else {
  const code = await run().catch((error: unknown) => {
    process.stderr.write(`${error instanceof EngineUnavailable ? error.message : (error as Error).stack}\n`)
    return 1
  })
  process.exit(code) // after an error clients may still be sending
}
