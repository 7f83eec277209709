import { CodedError } from '@tributary/contracts/errors'
import { isJsonObject } from '@tributary/domain/accept/accept-event'
import { parseJson } from '@tributary/service-kit/http/parse-json'

/** The JSON object that a body is. Throws `bad_json` for anything else. */
export function readJsonObject(body: Buffer): Record<string, unknown> {
  const value = parseJson(body)
  if (!isJsonObject(value)) {
    throw new CodedError('bad_json', { field: 'body', message: 'The body is not a JSON object.' })
  }
  return value
}
