/** The address at which a browser reached the panel, and the names of the cookies that it may keep there. */
export interface PanelOrigin {
  origin: string
  /** Null for an address that is neither https nor loopback. No session begins there. */
  cookies: { session: string; browser: string; oidc: string; secure: boolean } | null
}

/**
 * Over https a cookie has the prefix `__Host-`. Over http on a loopback address it is named by its port and lacks
 * `Secure`, because browsers refuse both there, and share cookies among the ports of a host.
 */
export function panelOrigin(scheme: 'http' | 'https', host: string): PanelOrigin | null {
  if (!URL.canParse(`${scheme}://${host}`)) return null
  const { origin, hostname, port } = new URL(`${scheme}://${host}`)
  if (scheme === 'https') return { origin, cookies: cookiesOf('__Host-tributary', true) }
  return { origin, cookies: isLoopbackName(hostname) ? cookiesOf(`tributary_${port || 80}`, false) : null }
}

const cookiesOf = (name: string, secure: boolean) => ({
  ...{ session: name, browser: `${name}_browser`, oidc: `${name}_oidc`, secure },
})

const isLoopbackName = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname)
