/** The address at which a browser reached the panel, and the names of the cookies that it may keep there. */
export interface PanelOrigin {
  origin: string
  /** Null for an address that is neither https nor loopback. No session begins there. */
  cookies: { session: string; browser: string; secure: boolean } | null
}

/**
 * Over https a cookie has the prefix `__Host-`. Over http on a loopback address it is named by its port and lacks
 * `Secure`, because browsers refuse both there, and share cookies among the ports of a host.
 */
export function panelOrigin(scheme: 'http' | 'https', host: string): PanelOrigin | null {
  if (!URL.canParse(`${scheme}://${host}`)) return null
  const { origin, hostname, port } = new URL(`${scheme}://${host}`)
  if (scheme === 'https')
    return { origin, cookies: { session: '__Host-tributary', browser: '__Host-tributary_browser', secure: true } }
  if (!isLoopbackName(hostname)) return { origin, cookies: null }
  const name = `tributary_${port || 80}`
  return { origin, cookies: { session: name, browser: `${name}_browser`, secure: false } }
}

const isLoopbackName = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname)
