import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { ClickRecorded } from './attribution/click.ts'
import { Decision } from './attribution/decision.ts'
import { Found } from './attribution/found.ts'
import { ErasureRequest } from './erasure.ts'
import { BodyEnvelope, Envelope } from './event/envelope.ts'
import { EventFields } from './event/event.ts'
import { PostbackReceived } from './postback/received.ts'
import { StoreNotified } from './receipt/store-notified.ts'
import { topics } from './topics.ts'

/** An event as it stands in the log: the gateway has checked its fields and filled in a missing `event_id`. */
const LoggedEvent = EventFields.and(z.looseObject({ event_id: z.string() }))
const events = z.array(LoggedEvent).min(1).describe('Unchanged, as the client sent them; null is absent.')

/** The records of each topic that others may read. */
const records = {
  [topics.eventsAccepted.name]: {
    title: 'The accepted events of one request that share an install',
    schema: z.union([
      Envelope.extend({ events }),
      BodyEnvelope.extend({ body: BodyEnvelope.shape.body.extend({ events }) }),
    ]),
  },
  [topics.erasuresRequested.name]: {
    title: 'A request to erase what is known of an install',
    schema: ErasureRequest,
  },
  [topics.clicksRecorded.name]: { title: 'A click on a tracking link, or a hit of a honeypot', schema: ClickRecorded },
  [topics.installsFound.name]: {
    title: 'An install event, an alias, or a tick that begins a batch',
    schema: Found,
  },
  [topics.installsAttributed.name]: { title: 'Where an install came from, and why', schema: Decision },
  [topics.postbacksReceived.name]: { title: 'A postback of Apple as it came', schema: PostbackReceived },
  [topics.storesNotified.name]: { title: 'A proven notification of a store about an app', schema: StoreNotified },
}

/**
 * JSON Schema (draft 2020-12) of a topic's records, as text. Looser than the code where JSON Schema has no word for a
 * rule, never stricter; fields that it does not name are allowed, so that a reader outlives a new one.
 */
export function topicSchema(topic: keyof typeof records): string {
  const { title, schema } = records[topic]
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: 'input',
    // Checks by hand are all of objects (`props`, `device`, the event itself); of their rules only that can be said.
    unrepresentable: ({ zodSchema }) => (zodSchema._zod.def.type === 'custom' ? { type: 'object' } : 'throw'),
  })
  const $comment = 'Made by `npm run dump`: do not edit.'
  return `${JSON.stringify({ $schema, $id: `urn:tributary:${topic}`, $comment, title, ...rest }, null, 2)}\n`
}

/** Writes the files of docs/schemas; with `--check` it only says which are out of date, and exits with 1. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
  const folder = join(import.meta.dirname, '..', '..', '..', 'docs', 'schemas')
  await mkdir(folder, { recursive: true })
  for (const topic of Object.keys(records) as (keyof typeof records)[]) {
    const file = join(folder, `${topic}.json`)
    const text = topicSchema(topic)
    if (!values.check) await writeFile(file, text)
    else if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
      console.error(`docs/schemas/${topic}.json is not what the code says: run \`npm run dump\` and commit it.`)
      process.exitCode = 1
    }
  }
}

if (import.meta.main) await main()
