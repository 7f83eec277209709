import { readdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openFile } from '../../src/ingest/lines.ts'
import { lookAhead } from '../../src/ingest/look/heed.ts'
import { parseMapping } from '../../src/ingest/mapping.ts'
import { answerOf, bulkService, event, jsonl, key, many, totals } from '../bulk-service.ts'
import { fileWith, tributary } from '../run-tributary.ts'

const header = 'event_id,event_name,event_ts_ms,install_uuid'
const row = (n: number, ...more: string[]) => [`e${n}`, 'purchase', 1_357_000_000_000 + n, 'i1', ...more].join(',')
const backfill = (path: string, ...options: string[]) => ['backfill', '--key', key, '--json', path, ...options]

describe('the first lines of a file', () => {
  it('stop a CSV with a column that is no field, name the nearest field, and send nothing', async () => {
    const { shelf, env } = await bulkService()
    const path = await fileWith('a.csv', `${header},amount,Curency,colour\n${row(1, '9.99', 'EUR', 'red')}\n`)
    const run = await tributary(backfill(path), env)
    expect(run).toMatchObject({ code: 2, stdout: '' })
    const { error, message } = JSON.parse(run.stderr)
    expect(error).toBe('unknown_field')
    expect(message.split('\n')).toEqual([
      'These columns are no fields of an event. No report would read their values:',
      '  amount: no field of an event; did you mean revenue? use --map amount=revenue or --extra-fields',
      '  Curency: no field of an event; did you mean currency? use --map Curency=currency or --extra-fields',
      '  colour: no field of an event; use --map colour=props.colour, --map colour= to skip it, or --extra-fields',
      expect.stringContaining('duplicate'),
      'Nothing was sent.',
    ])
    expect(shelf.events.size).toBe(0)
    expect(await readdir(dirname(path))).toEqual(['a.csv'])
  })

  it('let a CSV pass whose columns are mapped, skipped, properties, or meant', async () => {
    const { shelf, env } = await bulkService()
    const columns = `${header},amount,props.colour,device.os,junk`
    const path = await fileWith('a.csv', `${columns}\n${row(1, '9.99', 'red', 'ios', 'x')}\n`)
    const mapped = await tributary(backfill(path, '--map', 'amount=revenue', '--map', 'junk='), env)
    expect(mapped).toMatchObject({ code: 0, stderr: '' })
    const meant = await fileWith('b.csv', `${header},revenue,colour\n${row(2, '1', 'red')}\n`)
    expect(await tributary(backfill(meant, '--extra-fields'), env)).toMatchObject({ code: 0, stderr: '' })
    expect([...shelf.events.values()]).toMatchObject([
      { revenue: 9.99, props: { colour: 'red' }, device: { os: 'ios' } },
      { revenue: 1, colour: 'red' },
    ])
  })

  it('stop a CSV that is mapped to a field that does not exist', async () => {
    const { env } = await bulkService()
    const path = await fileWith('a.csv', `${header},amount\n${row(1, '9.99')}\n`)
    const run = await tributary(backfill(path, '--map', 'amount=revenu', '--set', 'currancy=EUR'), env)
    expect(run).toMatchObject({ code: 2, stdout: '' })
    expect(JSON.parse(run.stderr).message).toMatch(/amount: .* mean revenue\?.*\n {2}currancy: .* mean currency\?/)
  })

  it('let a CSV pass when a person says yes', async () => {
    const file = await openFile(await fileWith('a.csv', `${header},revenue,colour\n${row(1, '1', 'red')}\n`))
    const form = { body_bytes_max: 1000, mapping: parseMapping([], [], []) }
    const look = (is_meant: boolean) =>
      lookAhead(file, form, { extra_fields: false, json: false, confirm: async () => is_meant })
    await look(true)
    await expect(look(false)).rejects.toMatchObject({ code: 'unknown_field', exit_code: 2 })
  })

  it('of JSON name all unknown fields in one warning, and the lines are sent', async () => {
    const { shelf, env } = await bulkService()
    const path = await fileWith('a.jsonl', jsonl(many(50, { amount: 1, userId: 'u', kept: 1 })))
    const run = await tributary(backfill(path), env)
    expect(answerOf(run)).toEqual(totals(50, 0))
    const lines = run.stderr.trim().split('\n')
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0]!)).toEqual({
      warning: 'unknown_fields',
      message: expect.stringMatching(
        /: amount \(did you mean revenue\?\), userId \(did you mean user_id\?\), kept\. .*duplicate/,
      ),
    })
    expect(shelf.events.size).toBe(50)
    expect((await tributary(backfill(path, '--extra-fields'), env)).stderr).toBe('')
  })

  it('of JSON name a field with the name of a column of properties, whose value no report reads', async () => {
    const { env } = await bulkService()
    const path = await fileWith('a.jsonl', jsonl([event(1, { 'props.level': 3, 'device.os': 'ios', props: { a: 1 } })]))
    const run = await tributary(backfill(path), env)
    expect(run.code).toBe(0)
    expect(JSON.parse(run.stderr).message).toContain(': props.level, device.os (did you mean device?).')
  })

  it('count the purchases that bring no money', async () => {
    const { env } = await bulkService()
    const events = [
      ...many(3, { event_name: 'purchase' }),
      event(4, { event_name: 'subscribe', revenue: null }),
      event(5, { event_name: 'purchase', revenue: 0 }),
      event(6),
    ]
    const run = await tributary(backfill(await fileWith('a.jsonl', jsonl(events))), env)
    expect(run.code).toBe(0)
    expect(JSON.parse(run.stderr)).toEqual({
      warning: 'no_revenue',
      message:
        'among the first 6 events, these have a name of money and no revenue: purchase 3, subscribe 1. They bring no money.',
    })
  })
})
