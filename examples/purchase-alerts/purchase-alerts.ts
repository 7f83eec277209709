import { decodeEnvelope } from '@tributary/contracts/decode-envelope'
import { topics } from '@tributary/contracts/topics'
import { toEventRow } from '@tributary/domain/event-row'
import { defineConsumer } from '@tributary/service-kit/consumer/define-consumer'

/** `above`: by currency, the largest amount without an alert; a currency that is not named makes none. */
export type AlertOptions = { webhook_url: string; above: Record<string, number>; timeout_ms: number }

/** Posts each purchase above an amount to a webhook: at least once, always with the same `Idempotency-Key`. */
export function purchaseAlerts({ webhook_url, above, timeout_ms }: AlertOptions) {
  const answers = new WeakMap<object, number>() // when a batch comes again, what was answered is not posted again
  async function post({ key, body }: { key: string; body: string }, stop: AbortSignal): Promise<number> {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key }
    const signal = AbortSignal.any([stop, AbortSignal.timeout(timeout_ms)])
    const answer = await fetch(webhook_url, { method: 'POST', headers, body, redirect: 'error', signal })
    await answer.body?.cancel()
    if (answer.status >= 500 || [408, 429].includes(answer.status)) throw new Error(`webhook said ${answer.status}`)
    return answer.status
  }
  return defineConsumer({
    name: 'purchase-alerts',
    topic: topics.eventsAccepted,
    decode(record) {
      const envelope = decodeEnvelope(record.value)
      const rows = envelope.events.filter(({ revenue }) => revenue).map((event) => toEventRow(envelope, event, record))
      return rows.flatMap(({ app_id, install_uuid, event_id, event_key, ts_ms, revenue_micros, currency }) => {
        const alert = { app_id, install_uuid, event_id, ts_ms, revenue: Number(revenue_micros) / 1e6, currency }
        if (alert.revenue <= (above[currency] ?? Infinity)) return []
        return { record, key: `${app_id}/${event_key}`, body: JSON.stringify(alert) }
      })
    },
    async handle({ records, signal, dead, written }) {
      for (const alert of records.flatMap(({ value }) => value)) {
        const status = answers.get(alert) ?? (await post(alert, signal))
        answers.set(alert, status)
        status < 300 ? written(1) : dead(alert.record, `webhook_${status}`)
      }
    },
  })
}
