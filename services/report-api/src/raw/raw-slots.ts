import { CodedError, retrySoon } from '@tributary/contracts/errors'

interface AppOfCompany {
  app_id: string
  company_id: string
}

/** Takes the slot of an app, and gives back what frees it. Throws `busy`. */
export type TakeSlot = (app: AppOfCompany) => () => void

/**
 * One raw answer of an app at a time, `answers_max` of all apps, and `of_company_max` of the apps of a company: each reads for as long as
 * its client does.
 */
export function createRawSlots(answers_max: number, of_company_max: number): TakeSlot {
  /** The companies of apps that read. */
  const taken = new Map<string, string>()
  return ({ app_id, company_id }) => {
    if (taken.has(app_id)) throw busy('Another raw answer of this app is on its way.')
    const of_company = [...taken.values()].filter((one) => one === company_id).length
    if (taken.size >= answers_max || of_company >= of_company_max)
      throw busy('Raw answers of other apps are on their way.')
    taken.set(app_id, company_id)
    return () => taken.delete(app_id)
  }
}

const busy = (message: string) => new CodedError('busy', { message, headers: retrySoon })
