import { limits } from '@tributary/contracts/limits'
import type { PanelOrigin } from '@tributary/domain/people/panel-origin'
import type { FastifyReply } from 'fastify'

type Cookies = PanelOrigin['cookies']

/** The value of a cookie; null where there is none. */
export function readCookie(header: string | undefined, name: string | undefined): string | null {
  if (header === undefined || name === undefined) return null
  const parts = header.split(';', 100).map((part) => part.trim())
  const found = parts.find((part) => part.startsWith(`${name}=`))
  return found === undefined ? null : found.slice(name.length + 1)
}

/** Sets the cookies of a session and of a browser; an empty session ends that of the browser. */
export function setCookies(
  reply: FastifyReply,
  cookies: Cookies,
  { session, browser }: { session: string; browser?: string | null },
): void {
  if (cookies === null) return
  const flags = `Path=/; HttpOnly; SameSite=Strict${cookies.secure ? '; Secure' : ''}`
  const cookie = (name: string, value: string, ms: number) =>
    `${name}=${value}; Max-Age=${Math.floor(ms / 1000)}; ${flags}`
  reply.header('set-cookie', [
    cookie(cookies.session, session, session === '' ? 0 : limits.session_ms_max),
    ...(browser == null ? [] : [cookie(cookies.browser, browser, limits.known_browser_ms_max)]),
  ])
}

/**
 * Sets the cookie of a sign-in at an identity provider; an empty one ends it. `Lax`, as the provider sends the browser back from another
 * site.
 */
export function setOidcCookie(reply: FastifyReply, cookies: Cookies, token: string): void {
  if (cookies === null) return
  const age_s = token === '' ? 0 : limits.oidc_ms_max / 1000
  const flags = `Path=/; HttpOnly; SameSite=Lax${cookies.secure ? '; Secure' : ''}`
  reply.header('set-cookie', `${cookies.oidc}=${token}; Max-Age=${age_s}; ${flags}`)
}
