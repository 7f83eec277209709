import { setImmediate as letOthersRun } from 'node:timers/promises'
import type { JudgedPostback } from '@tributary/contracts/postback/judged'
import { judgePostback, type UnjudgedPostback } from '@tributary/domain/postback/judge'
import type { PostbackKeys } from '@tributary/domain/postback/keys'

/** How long signatures are verified before what else waits in this process gets its turn: a door, or another consumer. */
const slice_ms = 3

/** Judges postbacks, each with its position in the list. A P-256 signature takes 0.1 ms of CPU, one of 1.0 and 2.0 more. */
export async function judgeAll(postbacks: readonly UnjudgedPostback[], keys: PostbackKeys): Promise<JudgedPostback[]> {
  const judged: JudgedPostback[] = []
  let began = performance.now()
  for (const postback of postbacks) {
    judged.push(judgePostback(postback, keys))
    if (performance.now() - began < slice_ms) continue
    await letOthersRun()
    began = performance.now()
  }
  return judged
}
