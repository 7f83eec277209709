/** Row of each report that the service answers. Made by `npm run dump`: do not edit. */
export interface DeclaredRows {
  events: {
    /** UTC. */
    day: string
    event_name: string
    /** Accepted events, duplicates left out. */
    events: number
    /** Different installs among them. */
    unique_installs: number
    /** Counted money, refunds subtracted, at the exchange rate of its day; 0 without any. */
    revenue_usd: number
  }
}
