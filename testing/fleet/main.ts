import { parseArgs } from 'node:util'
import { EngineUnavailable } from '../engines/engine.ts'
import { runAttributionSoak } from './soak/attribution-soak.ts'
import { runSoak } from './soak/soak.ts'

const help = `npm run soak -- [options]

Runs gateways and writers as processes on real Kafka, Redis, S3, PostgreSQL and a shared ClickHouse engine under load.
Kills processes at random with kill -9, restarts them, waits until all events are written, and compares the results.
A gateway and a writer of postbacks are among them, and devices that send postbacks until each is answered 200. Two erasers
are among them too: apps request the erasure of some installs while these go on, and send all of their requests again at the end.

  --minutes N   duration of the load and the kills (10)
  --events N    distinct events that clients send in this time (2000000)
  --kills N     number of kill -9 of a random process (100)
  --accidents   also suspend a writer for up to a minute, and reset the offsets of all writers to the beginning
  --reconcile   also run the reconciler, and seed faults between the kills: see below
  --faults N    with --reconcile: how many times a fault of each kind is seeded (3)
  --gateways N  number of gateways (2)
  --writers N   number of writers (3)
  --json        print exactly one JSON document on stdout

Clients send signed gzip batches of 50 events. Every tenth request is S2S bulk. Clients send each request with the same
event ids until it is answered 200, and every seventh request to two gateways at once.

  acknowledged      distinct events in requests that were answered 200
  erased_installs   installs with a completed erasure; what they had up to their last mark counts in nothing below
  returned          erased events that are in events_raw_v1
  in_log            distinct events (app, install_uuid, event_id) found by reading the topic from Kafka
  in_events_raw     rows of events_raw_v1
  rollups           the count of each roll-up: keys of event_keys_v1, events of events_per_day_v1, installs by (app, day,
                    name) of event_installs_per_day_v1, (install, day) pairs of activity_by_day_v1, and likewise for
                    every other table that a materialized view fills
  differing         groups of each roll-up that differ from brute force over events_raw_v1, in either direction
  lost              acknowledged events that are not in events_raw_v1, looked up one by one
  doubled           rows beyond the first of an event, plus the excess of roll-ups over brute force
  events_per_second events in events_raw_v1 per second, from the first request until all were written
  freshness_p99_ms  from the 200 until a query finds the event, sampled four times a second, kills included
  postbacks         postbacks that were answered 200; postbacks_lost of them are not in postbacks_raw_v1,
                    postbacks_unknown are there and were never sent

An event whose request was never answered may be stored or not; it counts as neither lost nor doubled.
Exit code 1 when a count of lost, doubled, returned or unknown is not 0, a roll-up differs, or log and events_raw_v1 hold different numbers.

Of more than 300,000 events with --reconcile, all objects are in one bucket: set TRIBUTARY_TEST_VERSITYGW to the path of versitygw (go install
github.com/versity/versitygw/cmd/versitygw@latest), since S3Mock gets slower with each object.

With --reconcile the reconciler compares all stores, as a job and for an operator who asks again and again, while processes are killed.
Faults are seeded in one of the apps: a row deleted, a row doubled, a record dropped, an audit object corrupted, a roll-up off by one. At
the end its clock is moved past the hour. Then "tributary rebuild --from-audit" builds the tables again, and all is compared as above.

  faults_seeded         number of faults
  faults_missed         those that the last question, or the job, did not find
  differences_invented  what some question, or the job, found and nobody seeded
  reconciles            questions that were answered while the load ran

npm run soak -- --attribution [options]

Publishes one simulated history of clicks and installs to the log three times, for three companies, by time, backwards and
at random. Kills the consumers of attribution meanwhile. Then compares the verdicts of the three record by record, and holds
reports against verdicts and against what the simulator did.

  --minutes N   time over which the history is published (10)
  --kills N     number of kill -9, of each consumer in turn (100)
  --acts N      acts of the largest behaviour on each of 3 days; 60 make about 1500 installs (600)
  --seed N      another seed makes another history (1)

Exit code 1 when a verdict differs or is untrue, signs do not sum up to 0 or 1, or a report is wrong.`

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    events: { type: 'string', default: '2000000' },
    kills: { type: 'string', default: '100' },
    gateways: { type: 'string', default: '2' },
    writers: { type: 'string', default: '3' },
    accidents: { type: 'boolean', default: false },
    reconcile: { type: 'boolean', default: false },
    faults: { type: 'string', default: '3' },
    attribution: { type: 'boolean', default: false },
    acts: { type: 'string', default: '600' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const number = (
  name: 'minutes' | 'events' | 'faults' | 'kills' | 'gateways' | 'writers' | 'acts' | 'seed',
  min: number,
): number => {
  const value = Number(values[name])
  if (!(value >= min)) throw new Error(`--${name} needs a number of at least ${min}`)
  return value
}
const log = (line: string) => void process.stderr.write(`${line}\n`)

async function soakEvents(): Promise<number> {
  const { exact, ...result } = await runSoak({
    minutes: number('minutes', 0.1),
    events: number('events', 1),
    kills: number('kills', 0),
    gateways: number('gateways', 1),
    writers: number('writers', 1),
    accidents: values.accidents,
    faults: values.reconcile ? number('faults', 1) : 0,
    random: Math.random,
    log,
  })
  if (values.json) console.info(JSON.stringify(result))
  else {
    const { rollups, differing, faults_missed = [], differences_invented = [], ...figures } = result
    console.table([figures])
    console.table(
      Object.keys(differing).map((name) => ({ rollup: name, count: rollups[name], differing: differing[name] })),
    )
    for (const one of faults_missed) console.info(`WRONG: not found: ${one}`)
    for (const one of differences_invented) console.info(`WRONG: invented: ${one}`)
    console.info(
      exact ? 'Nothing is lost, nothing is doubled.' : 'WRONG: see lost, doubled, returned, unknown and differing.',
    )
  }
  return exact ? 0 : 1
}

async function soakAttribution(): Promise<number> {
  const result = await runAttributionSoak({
    ...{ seed: number('seed', 0), days: 3, acts: number('acts', 10), kills: number('kills', 0), log },
    seconds: number('minutes', 0.1) * 60,
  })
  const { differing, untrue, unbalanced, wrong_reports, ...figures } = result
  if (values.json) console.info(JSON.stringify(result))
  else {
    console.table([{ ...figures, differing: differing.length, untrue: untrue.length, unbalanced }])
    for (const wrong of [...wrong_reports, ...differing.slice(0, 10), ...untrue.slice(0, 10)]) console.info(wrong)
  }
  return differing.length + untrue.length + unbalanced + wrong_reports.length === 0 ? 0 : 1
}

if (values.help) console.info(help)
else {
  const code = await (values.attribution ? soakAttribution() : soakEvents()).catch((error: unknown) => {
    process.stderr.write(`${error instanceof EngineUnavailable ? error.message : (error as Error).stack}\n`)
    return 1
  })
  process.exit(code) // after an error clients may still be sending
}
