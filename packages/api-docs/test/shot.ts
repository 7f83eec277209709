import type { Tenant } from './tenants.ts'

/** A request to a documented route, and the code that it is to be answered with (`ok` for none). */
export interface Shot {
  route: string
  code: string
  /** Where it differs from that of the route. */
  path?: string
  headers?: Record<string, string>
  /** A function makes it when it is sent: codes of authenticators end. */
  body?: string | Buffer | (() => string)
  /** A body of this size is announced, and none is sent: what is too large is refused unread, what is not is waited for. */
  announced_bytes?: number
  /** Sent again while it is answered with this code: a wait after guesses was over before the shot came, and the next one is twice as long. */
  again_after?: string
}

/** Companies that differ in what they may do. */
export interface Companies {
  tenant: Tenant
  other: Tenant
  suspended: Tenant
  /** Its quota is 0. */
  poor: Tenant
  /** Its key allows purchases alone. */
  narrow: Tenant
  /** Its key may read alone. */
  analyst: Tenant
  /** Its key may send alone. */
  sender: Tenant
  /** Its key may upload costs alone. */
  buyer: Tenant
  /** Its key may read raw data alone. */
  reader: Tenant
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** A good event of a server. */
export const event = (change: object = {}) => ({
  ...{ event_id: 'e-1', event_name: 'level_up', event_ts_ms: Date.now(), install_uuid: 'i-1' },
  ...change,
})
