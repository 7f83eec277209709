import { CodedError } from '@tributary/contracts/errors'
import { isJsonObject } from '@tributary/domain/accept-event'
import { parseJson } from '@tributary/service-kit/http'
import type { FastifyRequest } from 'fastify'
import { readBody } from './read-body.ts'

/** The JSON object of an S2S request and its exact bytes: gunzip, `body_too_large`, `bad_json` (decisions.md "Shapes on S2S"). */
export async function readServerBody(
  request: FastifyRequest,
  inflated_bytes_max: number,
): Promise<{ body: Buffer; value: Record<string, unknown> }> {
  const wire = (request.body as Buffer | undefined) ?? Buffer.alloc(0)
  request.ingest.bytes = wire.length
  const encoding = request.headers['content-encoding']
  const body = await readBody(wire, { encoding, inflated_bytes_max, too_large: 'body_too_large' })
  if (body !== wire) request.hold(body.length)
  const value = parseJson(body)
  if (!isJsonObject(value))
    throw new CodedError('bad_json', { field: 'body', message: 'The body is not a JSON object.' })
  return { body, value }
}
