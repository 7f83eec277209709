import { parseArgs } from 'node:util'
import { EngineUnavailable } from '../engines/engine.ts'
import { runSoak } from './soak.ts'

const help = `npm run soak -- [options]

Runs a fleet of real processes on real Kafka, Redis, S3, PostgreSQL and a shared ClickHouse engine under load, kills
processes at random with kill -9, starts them again, waits until all is written and compares.

  --minutes N   how long the load and the kills are spread over (10)
  --events N    how many distinct events clients send in this time (2000000)
  --kills N     kill -9 of a gateway or a writer, chosen by chance (100)
  --accidents   also lets a writer sleep for up to a minute, and puts the offsets of all writers back to the beginning
  --gateways N  (2)   --writers N  (3)
  --json        exactly one JSON document on stdout

Clients send signed gzip batches of 50, every tenth request is S2S bulk; each is sent again with the same event ids until
it is answered 200, and every seventh is sent to two gateways at once.

  acknowledged      distinct events in requests that were answered 200
  in_log            distinct events (app, install_uuid, event_id) found by reading the topic from Kafka
  in_events_raw     rows of events_raw_v1
  rollups           what each roll-up counts: keys of event_keys_v1, events of events_per_day_v1, installs by (app, day,
                    name) of event_installs_per_day_v1, (install, day) pairs of activity_per_day_v1, and so on for every
                    table that a materialized view fills
  differing         groups of each roll-up that differ from brute force over events_raw_v1, in either direction
  lost              acknowledged events that are not in events_raw_v1, looked up one by one
  doubled           rows beyond the first of an event, plus what roll-ups count beyond brute force
  events_per_second events in events_raw_v1 by seconds from the first request until all was written
  freshness_p99_ms  from the 200 until a query finds the event, sampled four times a second, kills included

An event whose request was never answered may be there or not; it is neither lost nor doubled.
Exit code 1 when lost or doubled is not 0, a roll-up differs, or log and events_raw_v1 do not hold as many.`

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    events: { type: 'string', default: '2000000' },
    kills: { type: 'string', default: '100' },
    gateways: { type: 'string', default: '2' },
    writers: { type: 'string', default: '3' },
    accidents: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

async function main(): Promise<number> {
  const number = (name: 'minutes' | 'events' | 'kills' | 'gateways' | 'writers', min: number): number => {
    const value = Number(values[name])
    if (!(value >= min)) throw new Error(`--${name} needs a number of at least ${min}`)
    return value
  }
  const { exact, ...result } = await runSoak({
    minutes: number('minutes', 0.1),
    events: number('events', 1),
    kills: number('kills', 0),
    gateways: number('gateways', 1),
    writers: number('writers', 1),
    accidents: values.accidents,
    random: Math.random,
    say: (line) => process.stderr.write(`${line}\n`),
  })
  if (values.json) console.info(JSON.stringify(result))
  else {
    const { rollups, differing, ...figures } = result
    console.table([figures])
    console.table(
      Object.keys(differing).map((name) => ({ rollup: name, count: rollups[name], differing: differing[name] })),
    )
    console.info(exact ? 'Nothing is lost, nothing is doubled.' : 'WRONG: see lost, doubled and differing.')
  }
  return exact ? 0 : 1
}

if (values.help) console.info(help)
else {
  const code = await main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof EngineUnavailable ? error.message : (error as Error).stack}\n`)
    return 1
  })
  process.exit(code) // after an error clients may still be trying
}
