import { getApp } from '@tributary/admin-http/authorize'
import type { KeyRate } from '@tributary/tenancy/quota/key-rate'
import type { FastifyRequest } from 'fastify'
import type { Pool } from 'pg'
import type { AppReader } from '../answers/answer-report.ts'

/** Whose turns a request takes. Throws `rate_limited`. */
export type GetPerson = (request: FastifyRequest) => Promise<string>
/** The app in the path and who reads it. Throws `unknown_app`, `rate_limited`. */
export type GetReader = (request: FastifyRequest) => Promise<AppReader>

/** Finds out who reads. A person counts as a key: the rate and the turns of reports are those of a key of the company. */
export function createReaders({ pool, keyRate }: { pool: Pool; keyRate: KeyRate }) {
  const getPerson: GetPerson = async ({ caller }) => {
    const key_id = caller?.kind === 'person' ? caller.session.person_id : 'admin-token'
    const { refusal } = await keyRate.spend(key_id)
    if (refusal !== null) throw refusal
    return key_id
  }
  const getReader: GetReader = async (request) => {
    const app = await getApp(pool, request)
    return { ...app, key_id: await getPerson(request) }
  }
  return { getPerson, getReader }
}
