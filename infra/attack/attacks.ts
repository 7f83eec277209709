import type { Attack } from './attack.ts'
import { heldBackBodies } from './held-back-bodies.ts'
import { hostileJson } from './hostile-json.ts'
import { inflatedBytes } from './inflated-bytes.ts'
import { manyConnections } from './many-connections.ts'
import { quotaEvasion } from './quota-evasion.ts'
import { reportFlood } from './report-flood.ts'
import { slowBodies } from './slow-bodies.ts'

/** Every attack that `npm run attack` runs, in this order. */
export const attacks: readonly Attack[] = [
  heldBackBodies,
  slowBodies,
  inflatedBytes,
  hostileJson,
  reportFlood,
  quotaEvasion,
  manyConnections,
]
