import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { GatewayOrder } from './gateway.ts'

/** A collector of traces that takes what comes and looks at nothing. `ratio`: share of requests that the gateway records. */
export async function startCollector(
  ratio: number,
): Promise<{ order: Pick<GatewayOrder, 'traced'>; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end('{}'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, OTEL_TRACES_SAMPLER_ARG: String(ratio) }
  return {
    order: { traced },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
