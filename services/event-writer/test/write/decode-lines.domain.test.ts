import type { LogRecord } from '@tributary/broker/broker'
import type { Envelope } from '@tributary/contracts/envelope'
import { eventRowColumns } from '@tributary/contracts/rows'
import { toEventRow } from '@tributary/domain/event-row'
import { expect, test } from 'vitest'
import { decodeLines } from '../../src/write/decode-lines.ts'

const record = { topic: 'events.accepted.v1', partition: 3, offset: 7 } as LogRecord
const jsonColumns: readonly string[] = ['props', 'device', 'extra']

test('a line holds every column of the row in the order of the insert', () => {
  const envelope: Envelope = {
    v: 1,
    company_id: 'co_1',
    app_id: 'app_1',
    platform: 'ios',
    source: 'sdk',
    install_uuid: 'install "1"',
    received_at_ms: Date.UTC(2026, 2, 5),
    sent_at_ms: Date.UTC(2026, 2, 4),
    ip: '203.0.113.1',
    user_agent: 'agent \\ "1"',
    sdk: 'unity',
    sdk_platform: 'iphone',
    audit_key: 'audit/1',
    events: [
      {
        event_id: '1',
        event_name: 'x',
        props: { text: '}"\\\n\ud800' },
        device: { os: 'ios' },
        more: [1, { a: null }],
      },
      { event_id: '2', event_name: 'app_install', user_id: 'u', revenue: 1.5, transaction_id: 't', product_id: 'p' },
    ],
  }
  const lines = decodeLines(Buffer.from(JSON.stringify(envelope)), record, record.topic).map(({ bytes, from, to }) =>
    JSON.parse(bytes.toString('utf8', from, to)),
  )
  const rows = envelope.events.map((event) => toEventRow(envelope, event, record))
  expect(lines).toEqual(
    rows.map((row) =>
      eventRowColumns.map((name) => (jsonColumns.includes(name) ? JSON.parse(`${row[name]}`) : row[name])),
    ),
  )
})
