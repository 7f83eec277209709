import type { FxLoaded } from '@tributary/contracts/admin/stored-data'
import type { EurRates } from '@tributary/contracts/currencies'
import { limits } from '@tributary/contracts/limits'
import { isPostgresAway } from '@tributary/postgres/postgres-away'
import { inTransaction } from '@tributary/postgres/transaction'
import { LRUCache } from 'lru-cache'
import type { Pool, PoolClient } from 'pg'
import { type AdminRequest, recordAdminAction } from './companies/admin-audit.ts'
import { postgresUnavailable } from './postgres-unavailable.ts'

/** A rate to be stored: `units` of the currency for one EUR, decimal text; `day` is `YYYY-MM-DD`. */
export interface FxRate {
  day: string
  currency: string
  units: string
}

const rates_per_statement = 20_000

/**
 * Stores all rates or none, each in place of an older one of its currency and day. Returns what was given. A load that
 * changes nothing is not logged.
 */
export function loadFxRates(pool: Pool, rates: readonly FxRate[], request: AdminRequest): Promise<FxLoaded> {
  const days = [...new Set(rates.map(({ day }) => day))].sort()
  const currencies = new Set(rates.map(({ currency }) => currency))
  const loaded: FxLoaded = {
    days: days.length,
    currencies: currencies.size,
    rates: rates.length,
    from: days[0] ?? '',
    to: days.at(-1) ?? '',
  }
  return inTransaction(pool, async (client) => {
    // Two loads at once would lock each other's rows in different orders.
    await client.query('LOCK TABLE fx_rates IN SHARE ROW EXCLUSIVE MODE')
    let changed = 0
    for (let at = 0; at < rates.length; at += rates_per_statement) {
      changed += await store(client, rates.slice(at, at + rates_per_statement))
    }
    if (changed > 0) {
      const detail = { ...loaded, changed }
      await recordAdminAction(client, request, { action: 'fx.load', subject: 'fx_rates', detail })
    }
    return loaded
  })
}

async function store(client: PoolClient, rates: readonly FxRate[]): Promise<number> {
  const { rowCount } = await client.query(
    `INSERT INTO fx_rates (day, currency, units_per_eur)
     SELECT given.* FROM unnest($1::date[], $2::text[], $3::numeric[]) AS given(day, currency, units)
     WHERE NOT EXISTS (
       SELECT FROM fx_rates WHERE currency = given.currency AND day = given.day AND units_per_eur = given.units
     )
     ON CONFLICT (currency, day) DO UPDATE SET units_per_eur = excluded.units_per_eur`,
    [rates.map(({ day }) => day), rates.map(({ currency }) => currency), rates.map(({ units }) => units)],
  )
  return rowCount ?? 0
}

export interface FxLookup {
  /** `YYYY-MM-DD`. */
  day: string
  currency: string
}

export interface FxRates {
  /**
   * The rates of the day, or of the last day before it that has both this currency and USD; null without one. Known
   * within `limits.fx_rates_fresh_ms` of a load. While PostgreSQL is away the last known ones go on for ten minutes, then `unavailable`.
   */
  find(lookups: readonly FxLookup[]): Promise<(lookup: FxLookup) => EurRates | null>
}

const entries_max = 100_000

interface Entry {
  rates: EurRates | null
  loaded_at: number
}

/** Rates from memory over PostgreSQL. `now` is for ages alone: `elapsed` of `Service`. */
export function openFxRates({ pool, now }: { pool: Pool; now: () => number }): FxRates {
  const known = new LRUCache<string, Entry>({ max: entries_max })

  async function load(lookups: readonly FxLookup[]): Promise<Map<string, Entry>> {
    const loaded_at = now()
    const found = await queryRates(pool, lookups)
    return new Map(lookups.map((lookup) => [keyOf(lookup), { rates: found.get(keyOf(lookup)) ?? null, loaded_at }]))
  }

  function stale(lookups: readonly FxLookup[], cause: unknown): Map<string, Entry> {
    const entries = lookups.map((lookup): [string, Entry] => {
      const entry = known.get(keyOf(lookup))
      if (entry === undefined || now() - entry.loaded_at > limits.credentials_stale_ms_max) {
        throw postgresUnavailable(cause)
      }
      return [keyOf(lookup), entry]
    })
    return new Map(entries)
  }

  return {
    async find(lookups) {
      const answers = new Map<string, Entry | undefined>(
        lookups.map((lookup) => [keyOf(lookup), known.get(keyOf(lookup))]),
      )
      const missing = lookups.filter(
        (lookup) => now() - (answers.get(keyOf(lookup))?.loaded_at ?? -Infinity) >= limits.fx_rates_fresh_ms,
      )
      if (missing.length > 0) {
        const loaded = await load(missing).catch((error) => {
          if (isPostgresAway(error)) return stale(missing, error)
          throw error
        })
        for (const [key, entry] of loaded) {
          known.set(key, entry)
          answers.set(key, entry)
        }
      }
      return (lookup) => answers.get(keyOf(lookup))?.rates ?? null
    },
  }
}

const keyOf = ({ day, currency }: FxLookup): string => `${day}/${currency}`

async function queryRates(pool: Pool, lookups: readonly FxLookup[]): Promise<Map<string, EurRates>> {
  const { rows } = await pool.query<FxLookup & EurRates>({
    name: 'fx_rates',
    // EUR has no rate of its own: any day that has USD has it.
    text: `
      SELECT wanted.day::text AS day, wanted.currency, found.usd, found.units
      FROM unnest($1::date[], $2::text[]) AS wanted(day, currency)
      CROSS JOIN LATERAL (
        SELECT dollar.units_per_eur::text AS usd,
          CASE wanted.currency WHEN 'EUR' THEN '1' ELSE own.units_per_eur::text END AS units
        FROM fx_rates own JOIN fx_rates dollar ON dollar.currency = 'USD' AND dollar.day = own.day
        WHERE own.currency = CASE wanted.currency WHEN 'EUR' THEN 'USD' ELSE wanted.currency END AND own.day <= wanted.day
        ORDER BY own.day DESC LIMIT 1
      ) found`,
    values: [lookups.map(({ day }) => day), lookups.map(({ currency }) => currency)],
  })
  return new Map(rows.map(({ usd, units, ...lookup }) => [keyOf(lookup), { usd, units }]))
}
