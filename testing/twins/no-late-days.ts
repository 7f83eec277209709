import type { LateDays } from '@tributary/erasure/late-days'

/** Retention has blanked no day. */
export const noLateDays: LateDays = { note: async () => {} }
