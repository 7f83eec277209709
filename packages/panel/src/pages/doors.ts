/** The path of this document below `/admin`. */
export const ownPath = (): string => location.pathname.replace(/^\/admin/, '')

/** A page for those who are not signed in, by its path below `/admin`. */
export const isDoor = (path: string): boolean => /^\/(sign-in|invitation|reset|second-factor)/.test(path)
