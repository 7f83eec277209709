import { readdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { expect, it } from 'vitest'
import { answerOf, event, jsonl } from '../bulk-service.ts'
import { fileWith, tributary } from '../run-tributary.ts'

/** No service listens there, and the runs have no key. */
const env = { TRIBUTARY_URL: 'http://127.0.0.1:1' }
const paid = (n: number, revenue: number, more: object = {}) => event(n, { event_name: 'purchase', revenue, ...more })

it('a dry run says what would be accepted by the rules of the gateway, and sends and writes nothing', async () => {
  const lines = [
    ...jsonl([
      paid(1, 0.1),
      paid(2, 0.2),
      paid(3, 5, { currency: 'eur' }),
      paid(4, 3, { currency: 'XTS' }),
      paid(5, 2, { event_name: 'purchase_refunded' }),
      event(6, { event_name: 'purchase', amount: 7 }),
      event(7),
      event(8, { event_ts_ms: 1_357_000_000 }),
      event(9, { install_uuid: undefined }),
    ])
      .trim()
      .split('\n'),
    'no json',
  ]
  const path = await fileWith('a.jsonl', lines.join('\n'))
  const run = await tributary(['backfill', '--dry-run', '--json', path], env)
  expect(run).toMatchObject({ code: 0, stderr: '' })
  expect(answerOf(run)).toEqual({
    dry_run: true,
    accepted: 6,
    rejected: 4,
    skipped: {},
    events: [
      {
        event_name: 'purchase',
        accepted: 4,
        revenue: [
          { currency: 'USD', amount: 0.3 },
          { currency: 'EUR', amount: 5 },
        ],
      },
      { event_name: 'purchase_refunded', accepted: 1, revenue: [{ currency: 'USD', amount: -2 }] },
      { event_name: 'level_up', accepted: 1, revenue: [] },
    ],
    reasons: [
      { reason: 'invalid_field', field: 'currency', lines: 1 },
      { reason: 'event_ts_ms_out_of_range', field: 'event_ts_ms', lines: 1 },
      { reason: 'missing_required_fields', field: 'install_uuid', lines: 1 },
      { reason: 'bad_json', field: null, lines: 1 },
    ],
    rejected_lines: [
      {
        line: 4,
        reason: 'invalid_field',
        field: 'currency',
        message: expect.stringContaining('ISO 4217'),
        text: lines[3],
      },
      {
        line: 8,
        reason: 'event_ts_ms_out_of_range',
        field: 'event_ts_ms',
        message: expect.stringContaining('seconds'),
        text: lines[7],
      },
      {
        line: 9,
        reason: 'missing_required_fields',
        field: 'install_uuid',
        message: expect.stringContaining('absent'),
        text: lines[8],
      },
      { line: 10, reason: 'bad_json', field: null, message: null, text: 'no json' },
    ],
    unknown_fields: [{ name: 'amount', did_you_mean: 'revenue' }],
    without_revenue: [{ event_name: 'purchase', events: 1 }],
  })
  expect(await readdir(dirname(path))).toEqual(['a.jsonl'])
  const { stdout } = await tributary(['backfill', '--dry-run', path], env)
  expect(stdout.split('\n').slice(0, 7)).toEqual([
    'Nothing was sent. 6 would be accepted, 4 rejected.',
    '  4  purchase  0.3 USD  5 EUR',
    '  1  purchase_refunded  -2 USD',
    '  1  level_up',
    '1 purchase have no revenue: they bring no money.',
    'amount is no field of an event. Did you mean revenue?',
    'Rejected:',
  ])
})

it('a dry run fails where the real run would', async () => {
  const csv = await fileWith('a.csv', 'event_name,event_ts_ms,install_uuid,amount\npurchase,1357000000000,i1,9.99\n')
  const unknown = await tributary(['backfill', '--dry-run', '--json', csv], env)
  expect(unknown.code).toBe(2)
  expect(answerOf(unknown)).toMatchObject({
    accepted: 1,
    unknown_fields: [{ name: 'amount', did_you_mean: 'revenue' }],
  })
  expect(JSON.parse(unknown.stderr)).toMatchObject({ error: 'unknown_field' })
  const none = await tributary(['backfill', '--dry-run', '--json', await fileWith('b.jsonl', '{}\n')], env)
  expect(none.code).toBe(1)
  expect(JSON.parse(none.stderr)).toMatchObject({ error: 'all_rejected' })
})

it('a dry run of send has the rules of the SDK: an event may leave its time out', async () => {
  const path = await fileWith('a.jsonl', jsonl([event(1, { event_ts_ms: undefined })]))
  const run = await tributary(
    ['send', '--dry-run', '--json', '--app-key', 'app_live_1', '--company-key', 'co_live_1', path],
    env,
  )
  expect(answerOf(run)).toMatchObject({ accepted: 1, rejected: 0 })
  expect(answerOf(await tributary(['backfill', '--dry-run', '--json', path], env))).toMatchObject({ rejected: 1 })
})
