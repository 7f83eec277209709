import { Refusals } from '@tributary/client/deliver-events'
import { deliver } from '@tributary/client/retry'
import { createSdkPost, type SdkPost } from '@tributary/client/sdk-post'
import { limits } from '@tributary/contracts/limits'
import { requestDefaults, throwCliError } from '../http.ts'
import { batchesOf, workInOrder } from './batches.ts'
import { countReasons, deliverBatch, retryFor } from './deliver-batch.ts'
import { jsonLines } from './events.ts'
import { type Event, openFile } from './lines.ts'
import { type LookOptions, lookAhead } from './look/heed.ts'
import type { Mapping } from './mapping.ts'
import { startProgress } from './progress.ts'
import { openRejectedFile } from './rejected-file.ts'

export interface SendOptions {
  path: string
  url: string
  app_key: string
  company_key: string
  signing_secret: string
  mapping: Mapping
  give_up_after_ms: number
  show_progress: boolean
  look: LookOptions
}

export interface SendResult {
  accepted: number
  rejected: number
  rejected_reasons: Record<string, number>
  /** Requests that the service answered. */
  batches: number
  rejected_path: string
}

const in_flight_max = 4
/** Limits of one request. */
export const batch_limits = { lines_max: limits.sdk_batch_events_max, body_bytes_max: limits.sdk_inflated_bytes_max }

/** Sends a JSON-lines file as an app's client does, in signed, gzipped batches to `/event`. */
export async function send(options: SendOptions): Promise<SendResult> {
  const sdkPost = openPost(options)
  const policy = retryFor(options.give_up_after_ms)
  const file = await openFile(options.path)
  const form = { ...batch_limits, mapping: options.mapping }
  await lookAhead(file, form, options.look)
  const rejects = await openRejectedFile(options.path, 0)
  const progress = startProgress(file.bytes, options.show_progress)
  const { content, bytesRead } = file.open()
  const refusals = new Refusals()
  const total = { accepted: 0, rejected: 0, rejected_reasons: Object.create(null), batches: 0 }
  try {
    await workInOrder(
      batchesOf(jsonLines(file, content, form), batch_limits),
      in_flight_max,
      (batch, _index, signal) => {
        const post = async (events: readonly Event[]) => {
          const texts = events.map(({ json }) => json)
          const delivered = await deliver(() => sdkPost(texts, signal), policy, signal)
          total.batches += 1
          return delivered
        }
        return deliverBatch(batch, { refusals, sent_before: false, post })
      },
      async (_batch, outcome) => {
        await rejects.append(outcome.rejected)
        total.accepted += outcome.accepted
        total.rejected += outcome.rejected.length
        countReasons(total.rejected_reasons, outcome.rejected)
        progress.update(bytesRead(), total.accepted + total.rejected)
      },
    )
  } finally {
    progress.stop()
    await rejects.close()
  }
  return { ...total, rejected_path: rejects.path }
}

function openPost({ url, app_key, company_key, signing_secret }: SendOptions): SdkPost {
  const sdk = 'tributary-cli-0.1.0'
  const keys = { url, app_key, company_key, signing_secret }
  try {
    return createSdkPost({ ...requestDefaults, ...keys, sdk, gzip_events_min: 1, now: Date.now })
  } catch (error) {
    return throwCliError(error)
  }
}
