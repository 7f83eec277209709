/** The only proxy that the service trusts. All requests except those of `stranger_address` come through it. */
export const proxy_address = '127.0.0.1'
/** An untrusted address for connections. macOS needs `sudo ifconfig lo0 alias 127.0.0.66`. */
export const stranger_address = '127.0.0.66'

/** Clients behind the proxy (RFC 5737). */
export const attacker_ip = '203.0.113.66'
export const victim_ip = '198.51.100.7'
