/** How far the clock of the browser is behind that of the service. */
let behind_ms = 0
let known = false

/** A clock that is this far off shows wrong periods. */
const wrong_clock_ms = 120_000

/** Notes the `Date` of an answer. It has whole seconds. */
export function noteServerTime(date: string | null): void {
  const server_ms = Date.parse(date ?? '')
  if (Number.isNaN(server_ms)) return
  behind_ms = server_ms + 500 - Date.now()
  known = true
}

/** Now by the clock of the service. */
export const serverNow = (): number => Date.now() + behind_ms

export const isClockWrong = (): boolean => known && Math.abs(behind_ms) > wrong_clock_ms
