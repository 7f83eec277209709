import { findMissingPostbacks, postbackIdentity, withoutSentAgain } from '@tributary/audited/missing-postbacks'
import { readPostbackObjects } from '@tributary/audited/read-postbacks'
import type { Reading } from '@tributary/audited/reading'
import { type PostbackReceived, postback_audit_folder, postbackProtocols } from '@tributary/contracts/postback/received'
import { hourOf, type Looked, tallied } from './findings.ts'
import { listObjects, type Refusals, unreadable } from './list-objects.ts'
import { type Chosen, isInTime } from './look-at-requests.ts'
import type { LookDeps } from './look-deps.ts'

/** Postbacks that one statement looks up. */
const postbacks_together = 500
/** Those without a row that wait for the look at their bytes. */
const missing_together = 5000

/** Compares the audit objects of Apple's postbacks, those of some days, with `postbacks_raw_v1`. Postbacks name no app. */
export async function lookAtPostbacks(
  { clickhouse, audit, pause, dead, suspects }: LookDeps,
  chosen: Chosen & { days: ReadonlySet<string> },
): Promise<Looked> {
  const rows = tallied('', 'postbacks_raw_v1', suspects)
  const objects = tallied('', 'audit', suspects)
  const hours = new Set<string>()
  const refusals: Refusals = new Map()
  let waiting: PostbackReceived[] = []
  let missing: PostbackReceived[] = []

  async function lookUp() {
    missing.push(...(await findMissingPostbacks(clickhouse, waiting, pause)))
    waiting = []
    if (missing.length >= missing_together) await noteMissing()
  }

  async function noteMissing() {
    for (const postback of await withoutSentAgain(clickhouse, missing)) {
      const { received_at_ms, audit_key } = postback
      const name = postbackIdentity(postback)
      if ((await dead.postbacks()).has(name)) continue
      suspects.readAgain(audit_key)
      const example = `a postback of ${new Date(received_at_ms).toISOString()} in ${audit_key}`
      rows.miss(received_at_ms, { example, name })
    }
    missing = []
  }

  for (const protocol of postbackProtocols) {
    for (const day of chosen.days) {
      const reading: Reading = {
        replayed: 0,
        doubt(_reason, _count, key) {
          if (key == null) return
          suspects.readAgain(key)
          objects.miss(Date.parse(day), { example: unreadable(key, refusals), name: key })
        },
      }
      const folder = `${postback_audit_folder}${protocol}/${day.replaceAll('-', '/')}/`
      async function* chosenObjects() {
        for await (const listed of listObjects(audit, folder, { pause, refusals })) yield* chosen.choose(listed, day)
      }
      for await (const { key, postbacks } of readPostbackObjects({ objects: chosenObjects(), reading, pause })) {
        objects.expect(Date.parse(day))
        const compared = postbacks.filter(({ received_at_ms }) => isInTime(chosen, received_at_ms, key))
        for (const { received_at_ms } of compared) {
          hours.add(`/${hourOf(received_at_ms)}`)
          rows.expect(received_at_ms)
        }
        waiting.push(...compared)
        if (waiting.length >= postbacks_together) await lookUp()
      }
    }
  }
  await lookUp()
  await noteMissing()
  return { differences: [...rows.differences(), ...objects.differences()], hours }
}
