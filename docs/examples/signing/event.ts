// One signed batch. Needs nothing but Node.js; apps use packages/client, which queues, compresses and tries again.
import { createHmac, randomUUID } from 'node:crypto'

const { TRIBUTARY_URL, COMPANY_KEY, APP_KEY, SIGNING_SECRET } = process.env as Record<string, string>

const event = { event_id: randomUUID(), event_name: 'level_up', install_uuid: 'example-ts', props: { level: 3 } }
const body = JSON.stringify({ events: [event], sent_at_ms: Date.now() })

const answer = await fetch(`${TRIBUTARY_URL}/event`, {
  method: 'POST',
  headers: {
    'Content-Type': 'application/json',
    'X-Service-Sdk': 'example-ts-1.0.0',
    'X-Service-Company-Key': COMPANY_KEY!,
    'X-Service-App-Key': APP_KEY!,
    // Over the bytes that are sent: make the text once, sign it, send it.
    'X-Service-Signature': createHmac('sha256', SIGNING_SECRET!).update(body).digest('hex'),
  },
  body,
})
console.log(await answer.text())
if (!answer.ok) process.exitCode = 1
