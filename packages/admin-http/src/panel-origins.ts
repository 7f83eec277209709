import { normalAddress } from '@tributary/contracts/networks'
import { type PanelOrigin, panelOrigin } from '@tributary/domain/people/panel-origin'
import { networkList } from '@tributary/service-kit/http/client-address'
import type { FastifyRequest } from 'fastify'

export interface PanelAddress {
  /** `TRIBUTARY_ADMIN_URL`. */
  admin_url?: string | undefined
  /** The same list that `createHttpApp` gets. */
  trusted_proxies?: readonly string[]
}

/**
 * Makes the reader of the address that a browser used: that of the setting where `Host` names it, else `Host` itself, over
 * https where a trusted proxy says so. Null without a `Host`.
 */
export function readPanelOrigin({ admin_url, trusted_proxies = [] }: PanelAddress) {
  const isTrusted = networkList(trusted_proxies)
  const own = admin_url === undefined ? null : new URL(admin_url)
  return ({ headers, socket }: FastifyRequest): PanelOrigin | null => {
    const { host = '' } = headers
    if (own !== null && host.toLowerCase() === own.host)
      return panelOrigin(own.protocol === 'https:' ? 'https' : 'http', host)
    const isSecure = headers['x-forwarded-proto'] === 'https' && isTrusted(normalAddress(socket.remoteAddress ?? ''))
    return panelOrigin(isSecure ? 'https' : 'http', host)
  }
}
