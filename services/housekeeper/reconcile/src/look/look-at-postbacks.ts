import { findMissingPostbacks, postbackIdentity } from '@tributary/audited/missing-postbacks'
import { readPostbackObjects } from '@tributary/audited/read-postbacks'
import type { Reading } from '@tributary/audited/reading'
import { type PostbackReceived, postback_audit_folder, postbackProtocols } from '@tributary/contracts/postback/received'
import { hourOf, type Looked, tallied } from './findings.ts'
import { type Chosen, listObjects } from './look-at-requests.ts'
import type { LookDeps } from './look-deps.ts'

/** Postbacks that one statement looks up. */
const postbacks_together = 500

/** Compares the audit objects of Apple's postbacks, those of some days, with `postbacks_raw_v1`. Postbacks name no app. */
export async function lookAtPostbacks(
  { clickhouse, audit, pause, dead }: LookDeps,
  chosen: Chosen & { days: ReadonlySet<string> },
): Promise<Looked> {
  const rows = tallied('', 'postbacks_raw_v1')
  const objects = tallied('', 'audit')
  const hours = new Set<string>()
  let waiting: PostbackReceived[] = []

  async function lookUp() {
    for (const postback of await findMissingPostbacks(clickhouse, waiting, pause)) {
      const { received_at_ms, audit_key } = postback
      if (!(await dead.postbacks()).has(postbackIdentity(postback)))
        rows.miss(received_at_ms, `a postback of ${new Date(received_at_ms).toISOString()} in ${audit_key}`)
    }
    waiting = []
  }

  for (const protocol of postbackProtocols) {
    for (const day of chosen.days) {
      const reading: Reading = {
        replayed: 0,
        doubt: (_reason, _count, key) => key != null && objects.miss(Date.parse(day), `${key} can't be read`),
      }
      const folder = `${postback_audit_folder}${protocol}/${day.replaceAll('-', '/')}/`
      const found = chosen.choose(await listObjects(audit, folder, pause))
      for await (const { postbacks } of readPostbackObjects({ objects: found, reading, pause })) {
        objects.expect(Date.parse(day))
        const compared = postbacks.filter(({ received_at_ms }) => received_at_ms >= chosen.since_ms)
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
  return { differences: [...rows.differences(), ...objects.differences()], hours }
}
