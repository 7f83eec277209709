import { createHttpApp } from '@tributary/service-kit/http/http-app'
import pino from 'pino'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openTestTraces, traceOf } from './test-traces.ts'

async function serveTraced(settings: Record<string, string>) {
  const opened = await openTestTraces(settings)
  const app = createHttpApp({ logger: pino({ level: 'silent' }), traces: opened.traces })
  onTestFinished(() => app.close())
  app.post('/events/:install', async () => opened.traces.active()?.traceparent ?? 'none')
  app.get('/broken', async () => {
    throw new Error('the database of secret-person')
  })
  app.get('/health', async () => 'ok')
  return { app, ...opened }
}

describe('a request', () => {
  it.each([
    ['records what its client wants to hide', { OTEL_TRACES_SAMPLER: 'always_on' }, traceOf('c', false), 1],
    ['records what has a malformed header', { OTEL_TRACES_SAMPLER_ARG: '1' }, '00-zz', 1],
    ['records nothing that a client wants recorded', { OTEL_TRACES_SAMPLER: 'always_off' }, traceOf('c'), 0],
    ['records nothing at the share 0', { OTEL_TRACES_SAMPLER_ARG: '0' }, traceOf('c'), 0],
  ])('%s', async (_what, settings, traceparent, count) => {
    const { app, sent } = await serveTraced(settings)
    await app.inject({ method: 'POST', url: '/events/1', headers: { traceparent }, payload: '{}' })
    expect(await sent()).toHaveLength(count)
  })

  it('begins a trace of its own that links the one of its client, and its handler runs in it', async () => {
    const { app, sent } = await serveTraced({ OTEL_TRACES_SAMPLER: 'always_on' })
    const headers = { traceparent: traceOf('c') }
    const { body } = await app.inject({ method: 'POST', url: '/events/install-7?a=b', headers, payload: '{"a":1}' })
    const [span] = await sent()
    expect(span).toMatchObject({ name: 'POST /events/:install', parent_id: '', links: ['c'.repeat(32)], failed: false })
    expect(body).toBe(`00-${span!.trace_id}-${span!.span_id}-01`)
    expect(span!.trace_id).not.toBe('c'.repeat(32))
  })

  it('whose client leaves before the answer is recorded as failed', async () => {
    const { app, sent } = await serveTraced({ OTEL_TRACES_SAMPLER: 'always_on' })
    const [reached, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    app.get('/slow', async (request) => {
      request.raw.socket.once('close', left.resolve)
      reached.resolve()
      await left.promise
      return 'late'
    })
    const address = await app.listen({ port: 0, host: '127.0.0.1' })
    const leave = new AbortController()
    const answer = fetch(`${address}/slow`, { signal: leave.signal })
    await reached.promise
    leave.abort()
    await expect(answer).rejects.toThrow()
    await left.promise
    expect(await sent()).toMatchObject([{ name: 'GET /slow', failed: true }])
  })

  it('shows its pattern and status, and no path, id, message or address', async () => {
    const { app, sent, collector } = await serveTraced({ OTEL_TRACES_SAMPLER: 'always_on' })
    await app.inject({ method: 'POST', url: '/events/install-7?key=secret-key', payload: 'secret-body' })
    await app.inject({ url: '/broken', headers: { authorization: 'Bearer secret-key' } })
    await app.inject({ url: '/health' })
    await app.inject({ url: '/no/such/secret-path' })
    const spans = await sent()
    expect(spans.map(({ name, failed }) => [name, failed])).toEqual([
      ['POST /events/:install', false],
      ['GET /broken', true],
    ])
    expect(collector.texts.join()).not.toMatch(/secret|install-7|127\.0\.0\.1/)
  })
})
