/** Each of these says that a proxy stands between the client and this process. */
export const proxyHeaders = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'] as const
