import { limits } from '@tributary/contracts/limits'

/** The headers of a refusal that is over in a moment. */
export const retrySoon = { 'retry-after': String(limits.retry_soon_s) }
