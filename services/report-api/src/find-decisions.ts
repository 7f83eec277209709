import { isDeepStrictEqual } from 'node:util'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Decision } from '@tributary/contracts/attribution/decision'
import type { Verdict } from '@tributary/contracts/attribution/verdict'
import type { InstallRecord } from '@tributary/contracts/install-record'
import { limits } from '@tributary/contracts/limits'
import { decidedAt } from '@tributary/tables/attribution/verdicts'

/** A decision on an install. */
interface DecisionRow {
  decided_at_ms: number
  /** JSON of the verdict; `null` while pending. */
  verdict: string
  /** JSON of the whole decision for the newest, empty for others. */
  newest: string
}

/** What the decisions on an install say of it. */
type Explained = Omit<InstallRecord, 'app_id' | 'install_uuid' | 'identities' | 'receipts'>

/** The newest decision on an install and the verdicts before it (docs/rules.md#install-record). */
export async function findDecisions(
  clickhouse: Pick<Clickhouse, 'query'>,
  install: Pick<InstallRecord, 'app_id' | 'install_uuid'>,
): Promise<Explained | null> {
  const rows = await clickhouse.query<DecisionRow>(decisionsSql, install)
  const [first] = rows
  if (first === undefined) return null
  const decision = JSON.parse(first.newest) as Decision
  const { rule_version, windows, candidates, pending, installed_at_ms } = decision
  const verdict = withDeepLink(decision)
  return { installed_at_ms, verdict, rule_version, windows, candidates, pending, history: historyOf(rows) }
}

function withDeepLink({ verdict, clicks }: Decision): InstallRecord['verdict'] {
  if (verdict === null) return null
  const deep_link = clicks.find(({ click_id }) => click_id === verdict.click_id)?.deep_link ?? null
  return { ...verdict, deep_link }
}

/**
 * Verdicts before the newest, oldest first, equal neighbours once. An install that waits has no verdict: the one before the
 * waiting and the one after it are neighbours.
 */
function historyOf(newestFirst: readonly DecisionRow[]): InstallRecord['history'] {
  const verdicts: InstallRecord['history'] = []
  for (const { verdict: text, decided_at_ms } of newestFirst.toReversed()) {
    const verdict = JSON.parse(text) as Verdict | null
    if (verdict === null) continue
    const { decided_at_ms: _since, ...last } = verdicts.at(-1) ?? { decided_at_ms: 0 }
    if (!isDeepStrictEqual(verdict, last)) verdicts.push({ ...verdict, decided_at_ms })
  }
  return JSON.parse(newestFirst[0]!.verdict) === null ? verdicts : verdicts.slice(0, -1)
}

// The text of the newest only: a decision keeps up to 200 candidates with their clicks.
const decisionsSql = `
SELECT toInt64(i.decided_at_ms) AS decided_at_ms, JSONExtractRaw(i.decision, 'verdict') AS verdict,
  if(row_number() OVER (ORDER BY ${decidedAt.map((one) => `${one} DESC`).join(', ')}) = 1, i.decision, '') AS newest
FROM installs_v1 AS i
WHERE app_id = {app_id:String} AND install_uuid = {install_uuid:String} AND sign = 1
ORDER BY ${decidedAt.map((one) => `${one} DESC`).join(', ')}
LIMIT ${limits.install_decisions_max}`
