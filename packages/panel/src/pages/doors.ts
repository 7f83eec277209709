/** Pages for those who are not signed in, by their path below `/admin`. */
export const doors = {
  '/sign-in': () => import('./sign-in/page.tsx'),
  '/second-factor': () => import('./sign-in/second-factor.tsx'),
  '/invitation': () => import('./sign-in/invitation.tsx'),
  '/reset': () => import('./sign-in/reset.tsx'),
}

/** Whether a path below `/admin` is of one of them. */
export const isDoor = (path: string): boolean => Object.keys(doors).some((door) => path.startsWith(door))

/** The path of this document below `/admin`. */
export const ownPath = (): string => location.pathname.replace(/^\/admin/, '')
