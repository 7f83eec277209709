import { day_ms } from '@tributary/contracts/limits'
import { report_path } from '@tributary/contracts/reports'
import type { AttackTenant } from './tenants.ts'

/** The rows of the events report from 30 days ago until tomorrow. */
export async function eventRows(url: string, { report_key }: Pick<AttackTenant, 'report_key'>): Promise<EventRow[]> {
  const window = `since_ms=${Date.now() - 30 * day_ms}&until_ms=${Date.now() + day_ms}&limit=1000`
  const headers = { authorization: `Bearer ${report_key}` }
  const answer = await fetch(`${url}${report_path.replace(':report', 'events')}?${window}`, { headers })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`the report answered ${answer.status} ${text}`)
  return (JSON.parse(text) as { rows: EventRow[] }).rows
}

interface EventRow {
  event_name: string
  events: number
  revenue_usd: number
}

/** How many events the report counts. */
export const countEvents = async (url: string, tenant: Pick<AttackTenant, 'report_key'>): Promise<number> =>
  (await eventRows(url, tenant)).reduce((sum, { events }) => sum + events, 0)
