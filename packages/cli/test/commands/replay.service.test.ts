import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startTributary, tributary } from '../run-tributary.ts'

async function service(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { TRIBUTARY_URL: url, TRIBUTARY_ADMIN_TOKEN: 'a-token-of-the-admin-of-this-test' }
}

const progress = (state: string, more: object = {}) =>
  `${JSON.stringify({ ...{ state, replayed: 7, filled: 3, unknown: 2, unknown_reasons: { minted_id: 2 } }, at: '', percent: 50, seconds: 1, ...more })}\n`
const answerWith = (...lines: string[]) =>
  service((_request, response) =>
    response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(lines.join('')),
  )

describe('tributary replay', () => {
  it('requests the given replay, and prints with --json the totals and the reasons', async () => {
    const requested: unknown[] = []
    const env = await service(async (request, response) => {
      requested.push(request.method, request.url, request.headers.authorization, await json(request))
      response.write(progress('waiting', { replayed: 0 }))
      response.end(progress('done'))
    })
    const words = ['replay', '--from-audit', '--since', '2026-06-01', '--app', 'app_1', '--dry-run', '--json']
    const run = await tributary(words, env)
    expect([run.code, run.stderr, JSON.parse(run.stdout)]).toEqual([
      0,
      '',
      { replayed: 7, filled: 3, unknown: 2, unknown_reasons: { minted_id: 2 } },
    ])
    const body = { source: 'audit', since_ms: Date.UTC(2026, 5, 1), app_id: 'app_1', dry_run: true }
    expect(requested).toEqual(['POST', '/admin/api/v1/replays', 'Bearer a-token-of-the-admin-of-this-test', body])
  })

  it('prints the reasons of unknown events', async () => {
    const run = await tributary(['replay', '--from-log'], await answerWith(progress('done')))
    expect(run.stdout).toBe('7 events read, 3 filled, 2 unknown\n  minted_id  2\n')
    const dry = await tributary(['replay', '--from-log', '--dry-run'], await answerWith(progress('done')))
    expect(dry.stdout).toContain('3 would be filled')
  })

  it.each([
    ['failed', [progress('running'), progress('failed', { error: 'internal_error' })], 'internal_error'],
    ['was stopped', [progress('stopped')], 'unavailable'],
    ['broke off', [progress('running')], 'unavailable'],
    ['broke off within a line', [progress('done').slice(0, 20)], 'unavailable'],
    ['gave no line', [], 'unavailable'],
  ])('fails when the replay %s', async (_how, lines, error) => {
    const run = await tributary(['replay', '--from-log', '--json'], await answerWith(...lines))
    expect([run.code, run.stdout, JSON.parse(run.stderr).error]).toEqual([1, '', error])
  })

  it('fails when another replay is running', async () => {
    const env = await service((_request, response) => response.writeHead(409).end('{"error":"replay_running"}'))
    const run = await tributary(['replay', '--from-log', '--json'], env)
    expect([run.code, JSON.parse(run.stderr).error]).toEqual([1, 'replay_running'])
  })

  it.each([[[]], [['--from-log', '--from-audit']], [['--from-log', '--since', 'someday']]])(
    'refuses %j as typed wrongly',
    async (words) => expect((await tributary(['replay', ...words])).code).toBe(2),
  )

  it('ends the replay when the command is stopped', async () => {
    const begun = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    const env = await service((_request, response) => {
      response.on('close', ended.resolve)
      response.write(progress('running'), () => begun.resolve())
    })
    const run = startTributary(['replay', '--from-log'], env)
    await begun.promise
    run.child.kill('SIGINT')
    await ended.promise
  })
})
