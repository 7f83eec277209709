import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import type { InstallOfApp } from '@tributary/tables/attribution/redecisions'
import { installName } from '@tributary/tables/attribution/verdicts'
import type { JobDeps } from './job.ts'

/** Installs of one statement. */
const page_max = 10_000
/** Pages of one run; the next one goes on behind them. */
const pages_max = 10
/** An install that is still not decided is added again after this long. */
const add_again_ms = 3_600_000
/** What is looked at once more when all was seen: install-writer may write a decision for as long as the log keeps it. */
const overlap_ms = topics.installsAttributed.retention_ms

interface Waiting extends InstallOfApp {
  received_at_ms: number
}

const nobody: Waiting = { received_at_ms: 0, app_id: '', install_uuid: '' }

/**
 * Has installs decided again that have waited long enough for a click that we signed (docs/rules.md#windows); returns how
 * many. Any number of processes may run it: each adds an install once an hour.
 */
export function pendingJob({ clickhouse, redecisions, now }: JobDeps): () => Promise<number> {
  const remembered = rememberAdded(now)
  let from_ms = 0
  let after = nobody

  /** Oldest first, so that a page goes on where the one before ended. */
  const findPage = (due_ms: number) =>
    clickhouse.query<Waiting>(
      `SELECT app_id, install_uuid, received_at_ms FROM installs_pending_v1 FINAL
       WHERE received_at_ms >= {from_ms:Int64} AND received_at_ms <= {due_ms:Int64}
         AND (received_at_ms, app_id, install_uuid) > ({received_at_ms:Int64}, {app_id:String}, {install_uuid:String})
       GROUP BY app_id, install_uuid, received_at_ms HAVING sum(sign) > 0
       ORDER BY received_at_ms, app_id, install_uuid LIMIT {page_max:UInt32}`,
      { from_ms: Math.max(from_ms, after.received_at_ms), due_ms, page_max, ...after },
    )

  return async () => {
    const due_ms = now() - limits.pending_ms_max
    const seen_ms = Math.max(0, due_ms - overlap_ms)
    // The clock went back: what was seen by a later clock is looked at again.
    if (seen_ms < from_ms) {
      from_ms = seen_ms
      after = nobody
    }
    let added = 0
    for (let pages = 0; pages < pages_max; pages += 1) {
      const page = await findPage(due_ms)
      const wanted = page.filter((install) => !remembered.has(install))
      await redecisions.add(wanted)
      remembered.add(wanted)
      added += wanted.length
      after = page.at(-1) ?? nobody
      if (page.length === page_max) continue
      after = nobody
      from_ms = seen_ms
      break
    }
    return added
  }
}

/** Installs that this process added a while ago; the oldest are forgotten when they become too many. */
function rememberAdded(now: () => number) {
  const added_at = new Map<string, number>()
  return {
    has(install: InstallOfApp) {
      const at_ms = added_at.get(installName(install))
      return at_ms !== undefined && Math.abs(now() - at_ms) < add_again_ms
    },
    add(installs: readonly InstallOfApp[]) {
      for (const install of installs) {
        added_at.delete(installName(install))
        added_at.set(installName(install), now())
      }
      const over = added_at.size - page_max * pages_max
      for (const name of added_at.keys().take(Math.max(0, over))) added_at.delete(name)
    },
  }
}
