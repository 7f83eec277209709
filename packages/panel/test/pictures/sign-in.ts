import { randomBytes } from 'node:crypto'
import type { BrowserContext } from 'playwright-core'

interface Place {
  url: string
  admin_token: string
  company_id: string
}

/** Signs a new owner of the company in. Returns the function that removes that person again. */
export async function signInAsOwner(
  context: BrowserContext,
  { url, admin_token, company_id }: Place,
): Promise<() => Promise<void>> {
  const email = `owner-${randomBytes(4).toString('hex')}@example.com`
  const password = `a password of ${randomBytes(9).toString('hex')}`
  const send = async (path: string, data: object, headers: Record<string, string>) => {
    const answer = await context.request.post(`${url}/admin/api/v1${path}`, { data, headers })
    if (!answer.ok()) throw new Error(`${path} answered ${answer.status()} ${await answer.text()}`)
    return (await answer.json()) as { invitation_url: string }
  }
  const token = { authorization: `Bearer ${admin_token}` }
  const { invitation_url } = await send('/people/invite', { email, role: 'owner', company_id }, token)
  const origin = { origin: url }
  await send('/invitations/accept', { token: new URL(invitation_url).hash.slice(1), password }, origin)
  await send('/sign-in', { email, password }, origin)
  return async () => {
    await send('/people/remove', { email, company_id }, token)
  }
}
