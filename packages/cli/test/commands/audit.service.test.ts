import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { tributary } from '../run-tributary.ts'

/** An admin API that answers with `answer`. */
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

const key = 'audit/2026/06/01/co_1/app_1/1780000000000-1a2b3c4d-7.jsonl.gz'
const lines = ['{"n":1,"body":{"events":[]}}', '{"n":2,"body":"é\u009b31m"}']
/** Several gzip members, as the gateway writes them. */
const stored = Buffer.concat(lines.map((line) => gzipSync(`${line}\n`)))
const gzipped = (response: ServerResponse, content = stored) =>
  response
    .writeHead(200, { 'content-type': 'application/x-ndjson; charset=utf-8', 'content-encoding': 'gzip' })
    .end(content)

describe('tributary audit show', () => {
  it('prints the lines of an object of /event, with control characters escaped', async () => {
    const requested: (string | undefined)[] = []
    const env = await service((request, response) => {
      requested.push(request.url, request.headers.authorization)
      gzipped(response)
    })
    const run = await tributary(['audit', 'show', key], env)
    expect(run).toEqual({ code: 0, stderr: '', stdout: `${lines[0]}\n${lines[1]!.replace('\u009b', '\\u009b')}\n` })
    const query = new URLSearchParams({ key })
    expect(requested).toEqual([`/admin/api/v1/audit-objects?${query}`, 'Bearer a-token-of-the-admin-of-this-test'])
  })

  it('prints with --json one document with all requests', async () => {
    const env = await service((_request, response) => gzipped(response))
    const { stdout } = await tributary(['audit', 'show', key, '--json'], env)
    expect(JSON.parse(stdout)).toEqual({ audit_key: key, requests: lines.map((line) => JSON.parse(line)) })
    const empty = await service((_request, response) => gzipped(response, gzipSync('')))
    const none = await tributary(['audit', 'show', key, '--json'], empty)
    expect(JSON.parse(none.stdout)).toEqual({ audit_key: key, requests: [] })
  })

  it('says that and when an object was rewritten', async () => {
    const env = await service((_request, response) => {
      response.setHeader('x-rewritten-at-ms', '1780000000123')
      gzipped(response, gzipSync(`${lines[0]}\n`))
    })
    const run = await tributary(['audit', 'show', key], env)
    expect(run).toEqual({
      ...{ code: 0, stdout: `${lines[0]}\n` },
      stderr: expect.stringContaining('rewritten at 2026-05-28T20:26:40.123Z'),
    })
    const { stdout } = await tributary(['audit', 'show', key, '--json'], env)
    const requests = [JSON.parse(lines[0]!)]
    expect(JSON.parse(stdout)).toEqual({ audit_key: key, rewritten_at_ms: 1_780_000_000_123, requests })
  })

  it('prints a backend request of the app with its line breaks', async () => {
    const requested: (string | undefined)[] = []
    const text = '{"event_id":"a",\n"body":{}}'
    const env = await service(({ url }, response) => {
      requested.push(url)
      response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(text)
    })
    const words = ['audit', 'show', 's2s/2026-06-01/a.json', '--app', 'app_1']
    expect((await tributary(words, env)).stdout).toBe(`${text}\n`)
    const { stdout } = await tributary([...words, '--json'], env)
    expect(JSON.parse(stdout)).toEqual({ audit_key: 's2s/2026-06-01/a.json', requests: [JSON.parse(text)] })
    expect(new URLSearchParams(requested[0]?.split('?')[1]).get('app_id')).toBe('app_1')
  })

  it('passes on the error code of the service', async () => {
    const env = await service((_request, response) => response.writeHead(404).end('{"error":"unknown_audit_key"}'))
    const run = await tributary(['audit', 'show', key, '--json'], env)
    expect([run.code, run.stdout, JSON.parse(run.stderr).error]).toEqual([1, '', 'unknown_audit_key'])
  })

  it('fails when the answer breaks off', async () => {
    const env = await service((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' })
      response.write(stored, () => response.destroy())
    })
    const run = await tributary(['audit', 'show', key], env)
    expect([run.code, run.stderr]).toEqual([1, expect.stringMatching(/^unavailable: /)])
  })

  it('shows an object that inflates to a hundred times its size without holding it', async () => {
    const line = `{"body":"${'x'.repeat(100_000)}"}\n`
    const large = Buffer.concat(Array(400).fill(gzipSync(line)))
    const env = await service((_request, response) => gzipped(response, large))
    const { code, stdout } = await tributary(['audit', 'show', key], {
      ...env,
      NODE_OPTIONS: '--max-old-space-size=32',
    })
    expect([code, stdout.length]).toEqual([0, 400 * line.length])
  })
})
