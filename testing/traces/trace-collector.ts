import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'

/** A span as a collector got it. Ids are hex; the id of a parent is empty at the root of a trace. */
export interface ReceivedSpan {
  service: string
  name: string
  /** Of OTLP: 2 server, 3 client, 4 producer, 5 consumer. */
  kind: number
  trace_id: string
  span_id: string
  parent_id: string
  /** Ids of traces. */
  links: string[]
  attributes: Record<string, string | number>
  failed: boolean
}

export interface TraceCollector {
  url: string
  spans: readonly ReceivedSpan[]
  /** Texts of all requests. */
  texts: readonly string[]
  headers: readonly IncomingHttpHeaders[]
  /** Resolves with a span once it is there. */
  until(what: string, isIt: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan>
  close(): Promise<void>
}

/** `takes`: all spans; `hangs`: it never answers; `refuses`: it answers 401. */
export type CollectorMood = 'takes' | 'hangs' | 'refuses'

/** A collector of OTLP as JSON over HTTP, on a free port of this machine. */
export async function startTraceCollector(
  mood: CollectorMood = 'takes',
  wait_ms_max = 60_000,
): Promise<TraceCollector> {
  const spans: ReceivedSpan[] = []
  const texts: string[] = []
  const headers: IncomingHttpHeaders[] = []
  const server = createServer(async (request, response) => {
    const text = await readText(request)
    texts.push(text)
    headers.push(request.headers)
    if (mood === 'hangs') return
    if (mood === 'takes') spans.push(...readSpans(JSON.parse(text)))
    response.writeHead(mood === 'takes' ? 200 : 401, { 'content-type': 'application/json' }).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    texts,
    headers,
    async until(what, isIt) {
      for (const deadline = Date.now() + wait_ms_max; Date.now() < deadline; ) {
        const found = spans.find(isIt)
        if (found !== undefined) return found
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      throw new Error(`no span in time: ${what}; there are ${spans.map(({ name }) => name).join(', ')}`)
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

interface Otlp {
  resourceSpans: { resource: { attributes: OtlpAttribute[] }; scopeSpans: { spans: OtlpSpan[] }[] }[]
}
interface OtlpAttribute {
  key: string
  value: { stringValue?: string; intValue?: number }
}
interface OtlpSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  attributes: OtlpAttribute[]
  links?: { traceId: string }[]
  status: { code: number }
}

const readSpans = ({ resourceSpans }: Otlp): ReceivedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        service: String(readAttributes(resource.attributes)['service.name']),
        name: span.name,
        kind: span.kind,
        trace_id: span.traceId,
        span_id: span.spanId,
        parent_id: span.parentSpanId ?? '',
        links: (span.links ?? []).map(({ traceId }) => traceId),
        attributes: readAttributes(span.attributes),
        failed: span.status.code === 2,
      })),
    ),
  )

const readAttributes = (attributes: readonly OtlpAttribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? '']))
