import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import { peopleRoutes } from '@tributary/contracts/admin/people/people'
import { invitationMail, resetMail } from '@tributary/tenancy/people/mail/link-mails'
import { invitePerson, makeReset } from '@tributary/tenancy/people/one-time-links'
import { changePerson, listPeople, removePerson } from '@tributary/tenancy/people/people'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'

/** People: invite, list, change, remove, reset. What follows `#` never reaches a server or its log. */
export function addPeopleRoutes(app: FastifyInstance, { pool, now, admin_url, mails }: AdminApiDeps): void {
  const address = (page: 'invitation' | 'reset', token: string, { protocol, host, panel }: FastifyRequest) =>
    `${(admin_url ?? panel?.origin ?? `${protocol}://${host}`).replace(/\/+$/, '')}/admin/${page}#${token}`

  addRoute(app, peopleRoutes.invitePerson, async ({ body }, request, reply) => {
    reply.header('cache-control', 'no-store')
    const mail =
      mails &&
      ((token: string, about: Parameters<typeof invitationMail>[2] & { email: string }) =>
        mails.send(invitationMail(about.email, address('invitation', token, request), about), body.company_id ?? null))
    const { token, expires_at_ms } = await invitePerson(pool, body, adminRequest(request, now), mail)
    return { invitation_url: mail ? null : address('invitation', token, request), expires_at_ms }
  })
  addRoute(app, peopleRoutes.listPeople, async ({ query }) => ({
    people: await listPeople(pool, query.company_id, now()),
  }))
  addRoute(app, peopleRoutes.changePerson, ({ body }, request) => changePerson(pool, body, adminRequest(request, now)))
  addRoute(app, peopleRoutes.removePerson, ({ body }, request) => removePerson(pool, body, adminRequest(request, now)))
  addRoute(app, peopleRoutes.resetPerson, async ({ body }, request, reply) => {
    reply.header('cache-control', 'no-store')
    const mail =
      mails &&
      ((token: string, { email }: { email: string }) =>
        mails.send(resetMail(email, address('reset', token, request)), null))
    const { token, expires_at_ms } = await makeReset(pool, body, adminRequest(request, now), mail)
    return { reset_url: mail ? null : address('reset', token, request), expires_at_ms }
  })
}
