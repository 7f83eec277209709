import type { z } from 'zod'
import { findAdminToken, readConfig } from './config.ts'
import { CliError } from './errors.ts'
import { type Answer, adminFenceHint, open, refusal, request } from './http.ts'

/** GET (without `body`), POST or `method` to `/admin/api/v1`, a text as CSV; the answer is held to its shape in contracts/admin.ts. */
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

/** GET (without `body`) or POST to `/admin/api/v1` for an answer of any size and kind. */
export async function openAdmin(path: string, body?: object): Promise<Response> {
  const config = readConfig()
  return open(`${config.url}/admin/api/v1/${path}`, {
    headers: { authorization: `Bearer ${await findAdminToken(config)}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    throw error instanceof CliError ? adminRefusal(error) : error
  })
}

/** What is missing has a code of its own (`unknown_app`): `not_found` is a path that we may not reach. */
const adminRefusal = (error: CliError): CliError =>
  error.code === 'not_found' ? new CliError(error.code, `There is no admin API for us here. ${adminFenceHint}`) : error

/** The body of a 2xx answer in its shape; CliError with the code of any other. */
function read<T extends z.ZodType>(answer: Answer, shape: T): z.infer<T> {
  if (answer.status < 200 || answer.status > 299) throw adminRefusal(refusal(answer))
  const parsed = shape.safeParse(answer.body)
  if (!parsed.success)
    throw new CliError('unexpected_answer', 'The service answered in an unknown shape; is it as new as this command?')
  return parsed.data
}
