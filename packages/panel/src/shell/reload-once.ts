/** Errors of files that are gone: an upgrade has replaced them since the page was loaded. */
const gone = new WeakSet<object>()
window.addEventListener('vite:preloadError', ({ payload }) => gone.add(payload))

/** The router keeps note under the same name when it reloads for the script of a page: one file reloads the page once. */
const keyOf = ({ message }: Error) => `tanstack_router_reload:${message}`

/** Whether the error is of a file that is gone. */
export const isGone = (error: unknown): error is Error => error instanceof Error && gone.has(error)

/** Whether the error is of a file that is gone, and the page has not been reloaded for it. Without storage it could go on for ever. */
export function needsReload(error: unknown): error is Error {
  try {
    return isGone(error) && sessionStorage.getItem(keyOf(error)) === null
  } catch {
    return false
  }
}

/** Loads the page again, with its address: it gets the files of the present version. */
export function reloadOnce(error: Error): void {
  sessionStorage.setItem(keyOf(error), '1')
  location.reload()
}
