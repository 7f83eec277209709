import { setImmediate as nextTurn } from 'node:timers/promises'

/** Others wait at most about so long for a batch, ms. */
const slice_ms_max = 5

/** Lets others run once some milliseconds have passed since they could. Await it in each round of a long loop. */
export type Pause = () => Promise<void> | undefined

export function createPauses(): Pause {
  let since = performance.now()
  return () => {
    if (performance.now() - since < slice_ms_max) return undefined
    return nextTurn().then(() => {
      since = performance.now()
    })
  }
}
