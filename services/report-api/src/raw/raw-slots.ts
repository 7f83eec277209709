import { CodedError, retrySoon } from '@tributary/contracts/errors'

/** Takes the slot of an app, and gives back what frees it. Throws `busy`. */
export type TakeSlot = (app_id: string) => () => void

/** One raw answer of an app at a time, and `answers_max` of all apps: each reads for as long as its client does. */
export function createRawSlots(answers_max: number): TakeSlot {
  const taken = new Set<string>()
  return (app_id) => {
    if (taken.has(app_id)) throw busy('Another raw answer of this app is on its way.')
    if (taken.size >= answers_max) throw busy('Raw answers of other apps are on their way.')
    taken.add(app_id)
    return () => taken.delete(app_id)
  }
}

const busy = (message: string) => new CodedError('busy', { message, headers: retrySoon })
