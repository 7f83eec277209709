import type { Step } from '../steps.ts'
import { accept } from './accept.ts'
import { apple } from './apple.ts'
import { fraud, links, methods } from './attribution.ts'
import { clocks, duplicates } from './identity.ts'
import { quota } from './limits.ts'
import { money, settled } from './money.ts'
import { cohorts, mixed } from './people.ts'
import { erasure, retention } from './privacy.ts'

/** What makes each saved history. */
export const stories = new Map<string, () => Step[]>(
  Object.entries({
    ...{ accept, duplicates, clocks, quota },
    ...{ links, methods, fraud, apple },
    ...{ money, settled, cohorts, erasure, retention, mixed: () => mixed(20261123) },
  }),
)
