import type { RedecisionList } from '@tributary/attribution/redecisions'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'

export interface JobDeps {
  clickhouse: Clickhouse
  redecisions: Pick<RedecisionList, 'add'>
  now: () => number
}
