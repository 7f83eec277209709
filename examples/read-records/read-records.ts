/** Reads records of events.accepted.v1: one JSON line {"headers": {...}, "value": "<base64>"} each, as a Kafka client has them. */
import { stdin } from 'node:process'
import { createInterface } from 'node:readline'
import { gunzipSync } from 'node:zlib'

const record_bytes_max = 1_000_000

interface Event {
  event_id: string
  event_name: string
}
interface Envelope {
  app_id: string
  install_uuid: string
  events: Event[]
}
type Logged = (Envelope & { v: 1 }) | (Omit<Envelope, 'events'> & { v: 2; body: { events: Event[] } })

function readEnvelope(headers: Record<string, string>, value: Buffer): Envelope {
  const isGzip = headers['content-encoding'] === 'gzip'
  const text = isGzip ? gunzipSync(value, { maxOutputLength: record_bytes_max }) : value
  const logged: Logged = JSON.parse(text.toString())
  if (logged.v === 1) return logged
  if (logged.v === 2) return { ...logged, events: logged.body.events }
  throw new Error('envelope of an unknown version')
}

function printEvents(line: string): void {
  const { headers, value } = JSON.parse(line)
  const { app_id, install_uuid, events } = readEnvelope(headers, Buffer.from(value, 'base64'))
  for (const { event_id, event_name } of events) console.log(app_id, install_uuid, event_id, event_name)
}

for await (const line of createInterface(stdin)) {
  try {
    printEvents(line)
  } catch (error) {
    console.error('record left out:', String(error))
  }
}
