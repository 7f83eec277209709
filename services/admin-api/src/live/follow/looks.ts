import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { limits } from '@tributary/contracts/limits'
import { findClaims, findNewestOf, installName } from '@tributary/tables/attribution/verdicts'
import { findPostbacks } from '@tributary/tables/rows/find-postbacks'
import type { Follow } from './follow.ts'

type Queries = Pick<Clickhouse, 'query'>

/** Looks each second what the tables say of all that is followed, in few statements. A look that fails is made again. */
export function createLooks(clickhouse: Queries, follows: ReadonlySet<Follow>) {
  let looking = false

  async function look(): Promise<void> {
    if (looking || follows.size === 0) return
    looking = true
    try {
      await findInstalls(clickhouse, follows)
      await findDecisions(clickhouse, follows)
      await findNewPostbacks(clickhouse, follows)
    } catch {
      // A second later ClickHouse may answer.
    } finally {
      looking = false
    }
  }
  const timer = setInterval(() => void look(), limits.follow_look_ms).unref()
  return { close: () => clearInterval(timer) }
}

async function findInstalls(clickhouse: Queries, follows: Iterable<Follow>): Promise<void> {
  const wanting = [...follows].filter((follow) => follow.wantedClick() !== null)
  for (const [app_id, of_app] of Map.groupBy(wanting, (follow) => follow.app_id)) {
    const claims = await findClaims(
      clickhouse,
      app_id,
      of_app.flatMap((follow) => follow.wantedClick() ?? []),
    )
    const first = new Map(claims.map(({ click_id, install_uuid }) => [click_id, install_uuid]))
    for (const follow of of_app) {
      const found = first.get(follow.wantedClick() ?? '')
      if (found !== undefined) follow.takeInstall(found)
    }
  }
}

async function findDecisions(clickhouse: Queries, follows: Iterable<Follow>): Promise<void> {
  const known = [...follows].flatMap((follow) => {
    const install_uuid = follow.install()
    return install_uuid === null ? [] : { follow, install: { app_id: follow.app_id, install_uuid } }
  })
  const newest = await findNewestOf(
    clickhouse,
    known.map(({ install }) => install),
  )
  for (const { follow, install } of known) {
    const found = newest.get(installName(install))
    if (found !== undefined) follow.takeDecision(found.decision)
  }
}

async function findNewPostbacks(clickhouse: Queries, follows: Iterable<Follow>): Promise<void> {
  const of_stores = [...follows].filter(({ store_id }) => store_id !== null)
  if (of_stores.length === 0) return
  const since_ms = Math.min(...of_stores.map((follow) => follow.since_ms))
  const store_ids = [...new Set(of_stores.map(({ store_id }) => store_id!))]
  const found = await findPostbacks(clickhouse, store_ids, since_ms)
  for (const follow of of_stores)
    follow.takePostbacks(
      found.filter(({ store_id, at_ms }) => store_id === follow.store_id && at_ms >= follow.since_ms),
    )
}
