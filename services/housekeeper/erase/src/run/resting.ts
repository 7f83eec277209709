/** What is done for all apps rests so many times as long as it took, while the erasures of some go on. */
const rests = 10
const rest_ms_min = 1000

/** Makes work rest between two times, `most_ms` at most. */
export function resting(now: () => number, most_ms: number) {
  let ended_ms = Number.NEGATIVE_INFINITY
  let rest_ms = 0
  return {
    isOver: () => Math.abs(now() - ended_ms) >= rest_ms,
    async after<T>(work: () => Promise<T>): Promise<T> {
      const begun_ms = now()
      const done = await work()
      ended_ms = now()
      rest_ms = Math.min(most_ms, Math.max(rest_ms_min, rests * Math.abs(ended_ms - begun_ms)))
      return done
    },
  }
}
