import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { tributary } from '../../run-tributary.ts'

const hour = '2026-06-01T09:00:00Z'
const difference = (store: string, app_id = 'app_1') => ({
  ...{ app_id, hour, store, expected: 5, found: 3 },
  examples: [`event e1 in ${store}`],
})
const line = (state: string, differences: object[] = [], more: object = {}) =>
  `${JSON.stringify({ state, at: '', hours: state === 'done' ? 2 : 0, differences, left_out: 0, ...more })}\n`
const replayed = `${JSON.stringify({ state: 'done', replayed: 9, filled: 2, unknown: 0, unknown_reasons: {}, at: '', percent: 100, seconds: 1 })}\n`

/** A service that gives these answers to requests to compare, and what it was asked for. */
async function service(...answers: string[]) {
  const asked: unknown[] = []
  const server = createServer(async (request: IncomingMessage, response) => {
    asked.push([request.url, await json(request)])
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    response.end(request.url === '/admin/api/v1/replays' ? replayed : answers.shift())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { asked, env: { TRIBUTARY_URL: url, TRIBUTARY_ADMIN_TOKEN: 'a-token-of-the-admin-of-this-test' } }
}

describe('tributary reconcile', () => {
  it('asks for the given range, and ends with 0 where nothing differs', async () => {
    const { asked, env } = await service(line('running') + line('done'))
    const run = await tributary(['reconcile', '--since', '2026-06-01', '--app', 'app_1', '--json'], env)
    expect([run.code, run.stderr, JSON.parse(run.stdout)]).toEqual([
      ...[0, ''],
      { hours: 2, differences: [], left_out: 0, repaired: 0 },
    ])
    expect(asked).toEqual([['/admin/api/v1/reconcile', { since_ms: Date.UTC(2026, 5, 1), app_id: 'app_1' }]])
  })

  it('prints what differs and where, and ends with 1', async () => {
    const { env } = await service(line('done', [difference('audit')]))
    const run = await tributary(['reconcile'], env)
    expect(run.code).toBe(1)
    expect(run.stdout).toBe(
      `2 hours of apps compared\napp\thour\tstore\texpected\tfound\napp_1\t${hour}\taudit\t5\t3\n  audit: event e1 in audit\n`,
    )
  })

  it('says what goes on from there: what --repair brings back, and where the rest is told', async () => {
    const { env } = await service(
      line('done', [difference('events.accepted.v1')]),
      line('done', [difference('events.accepted.v1'), { ...difference('clicks_raw_v1'), found: 6 }]),
      line('done'),
    )
    const few = await tributary(['reconcile'], env)
    expect(few.stderr).toBe('Too few of events.accepted.v1: the audit store has them, and --repair brings them back.\n')
    expect((await tributary(['reconcile'], env)).stderr).toBe(
      `${few.stderr}The rest by store: "Reconcile" in docs/operations.md.\n`,
    )
    expect((await tributary(['reconcile'], env)).stderr).toBe('')
  })

  it('advises no --repair after one', async () => {
    const left = line('done', [difference('events.accepted.v1')])
    const { env } = await service(left, left)
    expect((await tributary(['reconcile', '--repair'], env)).stderr).not.toContain('--repair')
  })

  it('with --repair replays each app that lacks something, compares again, and counts what is gone', async () => {
    const first = [difference('events.accepted.v1'), difference('clicks_raw_v1', 'app_2'), difference('audit')]
    const { asked, env } = await service(line('done', first), line('done', [difference('audit')]))
    const run = await tributary(['reconcile', '--repair', '--json'], env)
    expect([run.code, JSON.parse(run.stdout)]).toEqual([
      1,
      { hours: 2, differences: [difference('audit')], left_out: 0, repaired: 2 },
    ])
    const replay = (app_id: string) => ({ source: 'audit', dry_run: false, since_ms: Date.parse(hour), app_id })
    expect(asked).toEqual([
      ['/admin/api/v1/reconcile', {}],
      ['/admin/api/v1/replays', replay('app_1')],
      ['/admin/api/v1/replays', replay('app_2')],
      ['/admin/api/v1/reconcile', {}],
    ])
  })

  it('replays all apps from the first listed hour on where differences are left out, and says how many are', async () => {
    const first = [difference('audit'), { ...difference('events.accepted.v1'), hour: '2026-06-02T09:00:00Z' }]
    const { asked, env } = await service(line('done', first, { left_out: 7 }), line('done', [], { left_out: 3 }))
    const run = await tributary(['reconcile', '--repair'], env)
    expect(run.stdout).toContain('2 differences repaired, 3 further differences left out')
    expect([run.code, asked[1]]).toEqual([
      1,
      ['/admin/api/v1/replays', { source: 'audit', dry_run: false, since_ms: Date.parse(hour) }],
    ])
  })

  it('counts what is too little as repaired although the same hour now has too much', async () => {
    const much = { ...difference('events.accepted.v1'), found: 6 }
    const { env } = await service(line('done', [difference('events.accepted.v1')]), line('done', [much]))
    const run = await tributary(['reconcile', '--repair', '--json'], env)
    expect(JSON.parse(run.stdout)).toMatchObject({ differences: [much], repaired: 1 })
  })

  it('replays all apps at once where postbacks are lost, and nothing where a replay fills nothing', async () => {
    const lost = await service(line('done', [difference('postbacks_raw_v1', '')]), line('done'))
    expect(await tributary(['reconcile', '--repair', '--json'], lost.env)).toMatchObject({ code: 0 })
    expect(lost.asked[1]).toEqual([
      '/admin/api/v1/replays',
      { source: 'audit', dry_run: false, since_ms: Date.parse(hour) },
    ])
    const other = await service(line('done', [difference('events_raw_v1')]))
    expect(await tributary(['reconcile', '--repair', '--json'], other.env)).toMatchObject({ code: 1 })
    expect(other.asked).toHaveLength(1)
  })

  it.each([
    ['failed', line('failed', [], { error: 'internal_error' }), 'internal_error'],
    ['was stopped', line('stopped'), 'unavailable'],
    ['broke off', line('running'), 'unavailable'],
    ['gave no line', '', 'unavailable'],
  ])('fails when it %s', async (_how, answer, error) => {
    const { env } = await service(answer)
    const run = await tributary(['reconcile', '--json'], env)
    expect([run.code, run.stdout, JSON.parse(run.stderr).error]).toEqual([1, '', error])
  })
})
