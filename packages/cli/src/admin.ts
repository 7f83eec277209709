import type { z } from 'zod'
import { findAdminToken, readConfig } from './config.ts'
import { CliError } from './errors.ts'
import { type Answer, adminFenceHint, open, refusal, request } from './http.ts'

/**
 * Sends GET (without `body`), POST or `method` to `/admin/api/v1`. A text body is sent as CSV. Throws CliError when the
 * answer does not have its `shape`.
 */
export async function admin<T extends z.ZodType>(
  path: string,
  shape: T,
  body?: unknown,
  method?: 'PATCH',
): Promise<z.infer<T>> {
  const config = readConfig()
  const isText = typeof body === 'string'
  const type = isText ? 'text/csv' : 'application/json'
  const answer = await request(`${config.url}/admin/api/v1/${path}`, {
    headers: { authorization: `Bearer ${await findAdminToken(config)}`, 'content-type': type },
    ...(method === undefined ? {} : { method }),
    ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
  })
  return read(answer, shape)
}

/** Sends GET (without `body`) or POST to `/admin/api/v1`, for an answer of any size and type. */
export async function openAdmin(path: string, body?: object): Promise<Response> {
  const config = readConfig()
  return open(`${config.url}/admin/api/v1/${path}`, {
    headers: { authorization: `Bearer ${await findAdminToken(config)}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    throw error instanceof CliError ? adminRefusal(error) : error
  })
}

/** Explains `not_found`: a missing object has its own code (`unknown_app`), so the fence hides the path. */
const adminRefusal = (error: CliError): CliError =>
  error.code === 'not_found'
    ? new CliError(error.code, `The service hides its admin API from this machine. ${adminFenceHint}`)
    : error

/** The body of a 2xx answer, checked against its shape. Throws CliError with the code of any other answer. */
function read<T extends z.ZodType>(answer: Answer, shape: T): z.infer<T> {
  if (answer.status < 200 || answer.status > 299) throw adminRefusal(refusal(answer))
  const parsed = shape.safeParse(answer.body)
  if (!parsed.success)
    throw new CliError('unexpected_answer', 'The service answered in an unknown shape; is it as new as this command?')
  return parsed.data
}
