import { stat } from 'node:fs/promises'
import { bearer } from '@tributary/client/bulk-post'
import { Refusals } from '@tributary/client/deliver-events'
import { baseUrl, errorOf, sendRequest } from '@tributary/client/http'
import { deliver } from '@tributary/client/retry'
import { requestDefaults, throwCliError } from '../http.ts'
import { batchesOf, workInOrder } from '../ingest/batches.ts'
import { countReasons, deliverBatch, retryFor } from '../ingest/deliver-batch.ts'
import { type Event, openFile } from '../ingest/lines.ts'
import type { Mapping } from '../ingest/mapping.ts'
import { startProgress } from '../ingest/progress.ts'
import { openRejectedFile } from '../ingest/rejected-file.ts'
import { cost_batch, costLines, requireCostColumns } from './cost-lines.ts'
import { inOrderOfKeys } from './in-order-of-keys.ts'

export interface LoadOptions {
  path: string
  url: string
  key: string
  mapping: Mapping
  give_up_after_ms: number
  show_progress: boolean
}

export interface LoadResult {
  accepted: number
  rejected: number
  rejected_reasons: Record<string, number>
  rejected_path: string
}

/** Requests open at once: the service stores all that came while it stored others. */
const in_flight_max = 8

/** Uploads a whole file through `PUT /api/v1/costs`, as of the time of the file. Of a key that it has twice the last line counts. */
export async function loadCosts(options: LoadOptions): Promise<LoadResult> {
  const { path, mapping } = options
  const file = await openFile(path)
  await requireCostColumns(file, mapping)
  const as_of_ms = Math.min(Math.floor((await stat(path)).mtimeMs), Date.now())
  const put = openPut(options, as_of_ms)
  const policy = retryFor(options.give_up_after_ms)
  const rejects = await openRejectedFile(path, 0)
  const progress = startProgress(file.bytes, options.show_progress, 'costs')
  const { content, bytesRead } = file.open()
  const total = { accepted: 0, rejected: 0, rejected_reasons: Object.create(null) }
  const afterKeys = inOrderOfKeys()
  try {
    await workInOrder(
      batchesOf(costLines(file, content, mapping), cost_batch),
      in_flight_max,
      (batch, _index, signal) => {
        const texts = batch.flatMap((line) => ('event' in line ? [line.event.json] : []))
        const post = (costs: readonly Event[]) =>
          deliver(
            () =>
              put(
                costs.map(({ json }) => json),
                signal,
              ),
            policy,
            signal,
          )
        return afterKeys(texts, () => deliverBatch(batch, { refusals: new Refusals(), sent_before: false, post }))
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

/** A sender of uploads. A refused `as_of_ms` is thrown: no cost caused it. */
function openPut({ url, key }: LoadOptions, as_of_ms: number) {
  const { timeout_ms } = requestDefaults
  try {
    const headers = { ...bearer({ ...requestDefaults, url, server_key: key }), 'content-type': 'application/json' }
    const address = `${baseUrl(url)}/api/v1/costs`
    return async (costs: readonly string[], signal: AbortSignal) => {
      const body = `{"as_of_ms":${as_of_ms},"costs":[${costs.join(',')}]}`
      const answer = await sendRequest(address, { method: 'PUT', body, headers, signal, timeout_ms })
      if (answer.status === 400 && errorOf(answer).field === 'as_of_ms') throw errorOf(answer)
      return answer
    }
  } catch (error) {
    return throwCliError(error)
  }
}
