import { CodedError, retrySoon } from '@tributary/contracts/errors'

/** Takes the slot of an app, and gives back what frees it. Throws `busy`. */
export type TakeSlot = (app_id: string) => () => void

/** One long answer of an app at a time, and `answers_max` of all apps. `answer` names it in the message. */
export function createSlots(answers_max: number, answer: string): TakeSlot {
  const taken = new Set<string>()
  return (app_id) => {
    if (taken.has(app_id)) throw busy(`Another ${answer} of this app is on its way.`)
    if (taken.size >= answers_max) throw busy(`One ${answer} of each of ${answers_max} other apps is on its way.`)
    taken.add(app_id)
    return () => taken.delete(app_id)
  }
}

const busy = (message: string) => new CodedError('busy', { message, headers: retrySoon })
