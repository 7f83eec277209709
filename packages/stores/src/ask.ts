import { limits } from '@tributary/contracts/limits'
import { Agent } from 'undici'

/** Why a store gave no purchase (docs/receipts.md#verdicts-and-reasons). `refused`: the credentials; `unknown_app`: it knows no such app. */
export type StoreFault = 'not_found' | 'refused' | 'unknown_app' | 'wrong_bundle' | 'wrong_product' | 'store_away'

export interface StoreAnswer {
  status: number
  text: string
}

interface Question {
  method: 'GET' | 'POST'
  headers: Record<string, string>
  body?: string | null
}

/** Sends one request to a store. Rejects without an answer in time or of a good size; the error holds nothing of the request. */
export type Ask = (url: string, question: Question) => Promise<StoreAnswer>

/** Connections to stores. Redirects are not followed. */
export function openAsk(request_ms_max: number = limits.store_request_ms_max): { ask: Ask; close(): Promise<void> } {
  const agent = new Agent({
    ...{
      connections: limits.store_connections_max,
      pipelining: 1,
      allowH2: false,
      connect: { timeout: limits.store_connect_ms_max },
    },
    ...{ headersTimeout: request_ms_max, bodyTimeout: request_ms_max },
    ...{ keepAliveTimeout: 30_000, keepAliveMaxTimeout: 30_000, maxResponseSize: limits.store_answer_bytes_max },
  })
  return {
    close: () => agent.destroy(),
    async ask(url, { method, headers, body = null }) {
      const { origin, pathname, search } = new URL(url)
      const signal = AbortSignal.timeout(request_ms_max)
      try {
        const path = `${pathname}${search}`
        const answer = await agent.request({ origin, path, method, headers, body, signal })
        return { status: answer.statusCode, text: await answer.body.text() }
      } catch (err) {
        // No cause: errors of libraries may carry the request.
        throw new Error(`The store gave no answer: ${(err as { code?: unknown }).code ?? (err as Error).name}`)
      }
    },
  }
}

/** The JSON object of a text; null for other text. */
export function readJson(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}
