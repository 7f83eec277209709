import { createHmac } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { limits } from '@tributary/contracts/limits'
import { type Answer, request } from '../http.ts'
import { batchesOf, workInOrder } from './batches.ts'
import { deliverBatch, Refusals } from './deliver-batch.ts'
import { jsonLines } from './events.ts'
import { type Event, openFile } from './lines.ts'
import { startProgress } from './progress.ts'
import { openRejectedFile } from './rejected-file.ts'
import { deliver } from './retry.ts'

const compress = promisify(gzip)

export interface SendOptions {
  path: string
  url: string
  app_key: string
  company_key: string
  signing_secret: string
  give_up_after_ms: number
  show_progress: boolean
}

export interface SendResult {
  accepted: number
  rejected: number
  /** Requests that the service answered. */
  batches: number
  rejected_path: string
}

const in_flight_max = 4
const batch_limits = { lines_max: limits.sdk_batch_events_max, body_bytes_max: limits.sdk_inflated_bytes_max }

/** Sends a JSON-lines file as a client would: signed, gzipped batches to `/event`. */
export async function send(options: SendOptions): Promise<SendResult> {
  const file = await openFile(options.path)
  const rejects = await openRejectedFile(options.path, 0)
  const progress = startProgress(file.bytes, options.show_progress)
  const { content, bytesRead } = file.open()
  const refusals = new Refusals()
  const total = { accepted: 0, rejected: 0, batches: 0 }
  try {
    await workInOrder(
      batchesOf(jsonLines(file, content, batch_limits), batch_limits),
      in_flight_max,
      (batch, _index, signal) => {
        const post = async (events: readonly Event[]) => {
          const attempt = () => postBatch(events, options, signal)
          const delivered = await deliver(attempt, { give_up_after_ms: options.give_up_after_ms, signal })
          total.batches += 1
          return delivered
        }
        return deliverBatch(batch, { refusals, sent_before: false, post })
      },
      async (_batch, outcome) => {
        await rejects.append(outcome.rejected)
        total.accepted += outcome.accepted
        total.rejected += outcome.rejected.length
        progress.update(bytesRead(), total.accepted + total.rejected)
      },
    )
  } finally {
    progress.stop()
    await rejects.close()
  }
  return { ...total, rejected_path: rejects.path }
}

/** Built anew for each attempt: an old `sent_at_ms` would look like a wrong clock (decisions.md "Install time"). */
async function postBatch(events: readonly Event[], options: SendOptions, signal: AbortSignal): Promise<Answer> {
  const json = `{"events":[${events.map((event) => event.json).join(',')}],"sent_at_ms":${Date.now()}}`
  const body = await compress(json)
  if (body.length > limits.sdk_body_bytes_max) return too_large
  const headers = {
    'content-type': 'application/json',
    'content-encoding': 'gzip',
    'x-service-sdk': 'tributary-cli-0.1.0',
    'x-service-company-key': options.company_key,
    'x-service-app-key': options.app_key,
    'x-service-signature': createHmac('sha256', options.signing_secret).update(body).digest('hex'),
  }
  return request(`${options.url}/event`, { body, headers, signal })
}

/** The answer that the service would give: known beforehand, so it is not asked. */
const too_large: Answer = { status: 413, headers: new Headers(), body: { error: 'body_too_large' } }
