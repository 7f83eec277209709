import { gunzipSync } from 'node:zlib'
import { day_ms } from '@tributary/contracts/limits'
import type { FuzzRequest } from './drafts/requests.ts'
import { type BatchReply, findReplyFault, readJson } from './judge.ts'
import type { HttpAnswer } from './read-answer.ts'

interface SentEvent {
  event_id?: string
  event_name: string
  install_uuid: string
  event_ts_ms?: number | null
  props?: { identity_migration?: unknown } | null
}

/** Counts by app, from requests and answers, what the reports must show. */
export interface Tally {
  /** Number of accepted events, including duplicates, and of distinct ones (docs/rules.md#idempotency). */
  of(app_id: string): { accepted: number; distinct: number }
  /** Counts the answer to a request. Returns its fault, null without one. */
  take(request: FuzzRequest, answer: HttpAnswer): string | null
}

export function createTally(): Tally {
  const counts = new Map<string, { accepted: number; distinct: number }>()
  const days = new Map<string, number[]>()
  const of = (app_id: string) => {
    const known = counts.get(app_id) ?? { accepted: 0, distinct: 0 }
    counts.set(app_id, known)
    return known
  }

  function count(app_id: string, event: SentEvent, event_id: string) {
    const install = event.event_name === 'app_install' && event.props?.identity_migration !== true
    const key = `${app_id} ${event.install_uuid} ${install ? '' : event_id}`
    const day = install ? 0 : Math.floor((event.event_ts_ms ?? Date.now()) / day_ms)
    const counted = days.get(key) ?? []
    const total = of(app_id)
    total.accepted += 1
    if (counted.some((other) => Math.abs(other - day) <= 1)) return
    total.distinct += 1
    days.set(key, [...counted, day])
  }

  function takeBatch(app_id: string, events: SentEvent[], reply: BatchReply): string | null {
    const fault = findReplyFault(reply, events)
    if (fault !== null) return fault
    for (const [index, { status, event_id }] of reply.results.entries()) {
      if (status === 'accepted') count(app_id, events[index]!, event_id!)
    }
    return null
  }

  return {
    of,
    take({ app, path, body, encoding, kind }, { status, body: answered }) {
      if (status !== 200 || !/^(valid|event|s2s|bulk)/.test(kind)) return null
      const reply = readJson(answered) as BatchReply & { event_id: string }
      if (app === null) return reply.accepted === 0 ? null : 'accepted without the credentials of any app'
      const sent = readJson(encoding === 'gzip' ? gunzipSync(body) : body) as SentEvent & { events: SentEvent[] }
      if (path !== '/s2s/event') return takeBatch(app.app_id, sent.events, reply)
      if (reply.accepted !== 1 || typeof reply.event_id !== 'string') return 'an accepted event without its id'
      count(app.app_id, sent, reply.event_id)
      return null
    },
  }
}

/** The number of events in the events report of a key from 2010 until tomorrow, including `app_install`. */
export async function reportedEvents(url: string, key: string): Promise<number> {
  const end_ms = Date.now() + 2 * day_ms
  let events = 0
  for (let since_ms = Date.UTC(2010, 0, 1); since_ms < end_ms; since_ms += 365 * day_ms) {
    const until_ms = Math.min(since_ms + 365 * day_ms, end_ms)
    for (let offset = 0, page = 1000; page === 1000; offset += page) {
      const query = `since_ms=${since_ms}&until_ms=${until_ms}&limit=1000&offset=${offset}`
      const answer = await fetch(`${url}/api/v1/reports/events?${query}`, {
        headers: { authorization: `Bearer ${key}` },
      })
      if (answer.status !== 200) throw new Error(`the report answered ${answer.status} ${await answer.text()}`)
      const { rows } = (await answer.json()) as { rows: { events: number }[] }
      events += rows.reduce((sum, row) => sum + row.events, 0)
      page = rows.length
    }
  }
  return events
}
