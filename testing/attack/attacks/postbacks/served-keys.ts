import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { aakPayload, createAppleTwin, production_kid } from '../../../postback/apple-twin.ts'

const kid = 'attack/0'
const apple = createAppleTwin()

/** Serves the key that `signPostback` signs with as a JWK set (`TRIBUTARY_AAK_JWKS_URL`). */
export async function serveKeys(): Promise<{ url: string; close(): Promise<void> }> {
  const jwk = apple.keys.aak.get(production_kid)!.key.export({ format: 'jwk' })
  const set = JSON.stringify({ keys: [{ ...jwk, kid, alg: 'ES256', use: 'sig' }] })
  const server = createServer((_request, reply) => void reply.end(set))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`, close }
}

/** A postback of an install of the app, signed by the served key. */
export const signPostback = (store_id: number): string =>
  apple.signAak(aakPayload({ 'advertised-item-identifier': store_id }), { kid, alg: 'ES256' })
