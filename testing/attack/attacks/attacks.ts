import type { Attack } from '../attack.ts'
import { adminGuesses } from './admin-guesses.ts'
import { claimedTransactions } from './claimed-transactions.ts'
import { crowdedDevices, installsAhead } from './crowded-keys.ts'
import { erasureFlood, erasuresOfOthers, leakedSecret } from './erasure-flood.ts'
import { deletionsWithoutEnd, erasureBehindBacklog } from './erasure-queue.ts'
import { forgedInstalls } from './forged-installs.ts'
import { endlessBodies, heldBackBodies } from './held-back-bodies.ts'
import { hostileJson } from './hostile-json.ts'
import { inflatedBytes } from './inflated-bytes.ts'
import { manyConnections } from './many-connections.ts'
import { manyYears } from './many-years.ts'
import { postbackBudget } from './postbacks/postback-budget.ts'
import { overQuota, rejectedFlood } from './quota/over-quota.ts'
import { quotaEvasion } from './quota/quota-evasion.ts'
import { repeatedBytes } from './quota/repeated-bytes.ts'
import { reportFlood } from './report-flood.ts'
import { slowBodies } from './slow-bodies.ts'
import { lostStorePages } from './strangers/lost-store-pages.ts'
import { clickFlood, postbackFlood } from './strangers/stranger-floods.ts'

/** Every attack that `npm run attack` runs, in this order. */
export const attacks: readonly Attack[] = [
  heldBackBodies,
  endlessBodies,
  slowBodies,
  inflatedBytes,
  hostileJson,
  reportFlood,
  overQuota,
  rejectedFlood,
  quotaEvasion,
  repeatedBytes,
  erasureFlood,
  leakedSecret,
  erasuresOfOthers,
  erasureBehindBacklog,
  deletionsWithoutEnd,
  clickFlood,
  lostStorePages,
  postbackFlood,
  postbackBudget,
  claimedTransactions,
  forgedInstalls,
  installsAhead,
  crowdedDevices,
  manyYears,
  adminGuesses,
  manyConnections,
]

/** Every M-th attack of a list, from the N-th on; `part` is `N/M`. Throws an Error for another text. */
export function partOf(all: readonly Attack[], part: string): Attack[] {
  const [n = 0, parts = 0] = (/^(\d+)\/(\d+)$/.exec(part) ?? []).slice(1).map(Number)
  if (n < 1 || n > parts) throw new Error('--part needs two numbers, such as 1/3')
  return all.filter((_, place) => place % parts === n - 1)
}
