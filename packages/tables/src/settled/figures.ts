import type { StampSource } from '@tributary/contracts/report-tables'
import {
  type CampaignList,
  campaignClicksSql,
  campaignInstallsSql,
  campaignLists,
  earningsSql,
} from './sql/campaigns.ts'
import type { DaysOfApp } from './sql/days-of-app.ts'
import { installsSql } from './sql/installs.ts'
import { ltvSql, moneySql, payersSql, paymentsSql } from './sql/money.ts'
import { uniquesSql } from './sql/uniques.ts'

/** A list in the row of a settled day: its columns, and the SQL that works its rows out: `date` and these columns. */
interface FigureList {
  columns: readonly string[]
  liveSql(at: DaysOfApp): string
}

/** A figure that is settled by UTC days (docs/decisions/reports.md#settled-figures-carry-a-version). */
interface Figure {
  table: string
  /** Source of its stamps. */
  source: StampSource
  /** Column of the time that a window bounds, Unix epoch ms. */
  time_column: 'installed_at_ms' | 'ts_ms' | 'clicked_at_ms'
  lists: Readonly<Record<string, FigureList>>
  /**
   * Reports can add later events to a settled day; its row notes which events it counts
   * (docs/decisions/money.md#late-money-is-added-to-a-settled-day).
   */
  grows?: true
}

/** A list by each of `campaignLists`. */
const byCampaign = (columns: readonly string[], sql: (at: DaysOfApp, by: readonly string[]) => string) => {
  const listOf = (by: readonly string[]): FigureList => ({ columns: [...by, ...columns], liveSql: (at) => sql(at, by) })
  return {
    campaigns: listOf(campaignLists.campaigns),
    countries: listOf(campaignLists.countries),
  } satisfies Record<CampaignList, FigureList>
}

/** Each figure by day: the settler fills its table by this SQL, and reports work days out by it that are not settled. */
export const figures = {
  installs: {
    table: 'settled_installs_v1',
    source: 'installs',
    time_column: 'installed_at_ms',
    lists: {
      groups: {
        columns: ['partner', 'attribution_type', 'installs', 'reinstalls', 'fraud_flagged'],
        liveSql: installsSql,
      },
    },
  },
  uniques: {
    table: 'settled_uniques_v1',
    source: 'uniques',
    time_column: 'ts_ms',
    lists: { uniques: { columns: ['event_name', 'installs'], liveSql: uniquesSql } },
  },
  money: {
    table: 'settled_money_v1',
    source: 'money',
    time_column: 'ts_ms',
    grows: true,
    lists: {
      money: { columns: ['partner', 'currency', 'purchases', 'micros', 'amounts'], liveSql: moneySql },
      payers: { columns: ['partner', 'currencies', 'installs'], liveSql: payersSql },
      ltv: { columns: ['install_day', 'partner', 'age', 'currency', 'micros', 'amounts'], liveSql: ltvSql },
    },
  },
  payments: {
    table: 'settled_payments_v1',
    source: 'money',
    time_column: 'ts_ms',
    lists: {
      events: {
        columns: [
          ...(['ts_ms', 'correction_ms', 'number', 'event_name', 'currency', 'micros', 'partner'] as const),
          ...(['is_new', 'installed_at_ms'] as const),
        ],
        liveSql: paymentsSql,
      },
    },
  },
  campaigns: {
    table: 'settled_campaigns_v1',
    source: 'dimensions',
    time_column: 'installed_at_ms',
    lists: byCampaign(['installs', 'reinstalls', 'fraud_flagged'], campaignInstallsSql),
  },
  clicks: {
    table: 'settled_clicks_v1',
    source: 'clicks',
    time_column: 'clicked_at_ms',
    lists: byCampaign(['clicks'], campaignClicksSql),
  },
  earnings: {
    table: 'settled_earnings_v1',
    source: 'money',
    time_column: 'ts_ms',
    lists: {
      earned: {
        columns: [
          ...(['install_day', ...campaignLists.countries, 'number', 'age', 'currency', 'micros'] as const),
          ...(['purchases', 'paid'] as const),
        ],
        liveSql: (at) => earningsSql(at),
      },
    },
  },
} as const satisfies Record<string, Figure>

export type FigureName = keyof typeof figures
export const figureNames = Object.keys(figures) as FigureName[]
export type ListName<Name extends FigureName> = keyof (typeof figures)[Name]['lists'] & string

export const figureOf = (name: FigureName): Figure => figures[name]

/**
 * Rows of a list on settled days: `date` and its columns. The days must be settled (`findSettled`); a row that was settled
 * again meanwhile is as right.
 */
export function settledSql<Name extends FigureName>(name: Name, list: ListName<Name>, at: DaysOfApp): string {
  const { table, lists }: Figure = figures[name]
  const joined = lists[list]!.columns.map((column) => `\`${list}.${column}\` AS ${column}`)
  return `
  SELECT day AS date, ${lists[list]!.columns.join(', ')}
  FROM ${table} FINAL ARRAY JOIN ${joined.join(', ')}
  WHERE app_id = ${at.app_id} AND day IN ${at.days}`
}
