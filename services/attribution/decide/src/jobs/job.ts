import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { RedecisionList } from '@tributary/tables/attribution/redecisions'

export interface JobDeps {
  clickhouse: Clickhouse
  redecisions: Pick<RedecisionList, 'add'>
  now: () => number
}
