import { adminRequest } from '@tributary/admin-http/admin-request'
import { CodedError, type ErrorCode } from '@tributary/contracts/errors'
import { type AwaitedKind, askAwaited } from '@tributary/postgres/awaited-jobs'
import { inTransaction } from '@tributary/postgres/transaction'
import { recordAdminAction } from '@tributary/tenancy/companies/admin-audit'
import type { FastifyRequest } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'

interface Wanted {
  kind: AwaitedKind
  asked: { app_id?: string | undefined; request_id: string }
  /** Code of the refusal while other work of the kind is open. */
  refused: ErrorCode
  /** Name in the audit log. */
  action: string
}

/** Asks for work on an app or on all, and records who did. Gives back its number. */
export const askOnce = (
  { pool, now }: Pick<AdminApiDeps, 'pool' | 'now'>,
  { kind, asked, refused, action }: Wanted,
  request: FastifyRequest,
): Promise<number> =>
  inTransaction(pool, async (client) => {
    const number = await askAwaited(client, kind, asked, now())
    if (number === null) throw new CodedError(refused)
    const { request_id: _, ...detail } = asked
    const { app_id } = detail
    if (app_id !== undefined) {
      const { rowCount } = await client.query('SELECT 1 FROM apps WHERE app_id = $1', [app_id])
      if (rowCount === 0) throw new CodedError('unknown_app', { field: 'app_id' })
    }
    await recordAdminAction(client, adminRequest(request, now), { action, subject: app_id ?? 'every app', detail })
    return number
  })
