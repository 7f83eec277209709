import type { FxLoaded } from '@tributary/contracts/admin/stored-data'
import type { EurRates } from '@tributary/contracts/currencies'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { retryLater } from '@tributary/postgres/batched-load'
import { isPostgresAway } from '@tributary/postgres/postgres-away'
import { inTransaction } from '@tributary/postgres/transaction'
import { LRUCache } from 'lru-cache'
import type { Pool, PoolClient } from 'pg'
import { type AdminRequest, recordAdminAction } from './companies/admin-audit.ts'

/** A rate to be stored: `units` of the currency for one EUR, decimal text; `day` is `YYYY-MM-DD`. */
export interface FxRate {
  day: string
  currency: string
  units: string
}

const rates_per_statement = 20_000

/**
 * Stores rates, each in the place of an older one of its currency and day, all or none; says what was given. A load
 * that changes nothing is not logged.
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
    // Two loads at once would wait for each other's rows in another order each.
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

export interface FxAsk {
  /** `YYYY-MM-DD`. */
  day: string
  currency: string
}

export interface FxRates {
  /**
   * The rates of the day, or of the last day before it that has both this currency and USD; null without one. Known
   * within two seconds of a load. While PostgreSQL is away the last known ones go on for ten minutes, then `unavailable`.
   */
  find(asks: readonly FxAsk[]): Promise<(ask: FxAsk) => EurRates | null>
}

const fresh_ms = 2_000
const entries_max = 100_000

interface Entry {
  rates: EurRates | null
  loaded_at: number
}

/** Rates from memory over PostgreSQL. */
export function openFxRates({ pool, now }: { pool: Pool; now: () => number }): FxRates {
  const known = new LRUCache<string, Entry>({ max: entries_max })

  async function load(asks: readonly FxAsk[]): Promise<Map<string, Entry>> {
    const loaded_at = now()
    const found = await queryRates(pool, asks)
    return new Map(asks.map((ask) => [keyOf(ask), { rates: found.get(keyOf(ask)) ?? null, loaded_at }]))
  }

  function stale(asks: readonly FxAsk[], cause: unknown): Map<string, Entry> {
    const entries = asks.map((ask): [string, Entry] => {
      const entry = known.get(keyOf(ask))
      if (entry === undefined || now() - entry.loaded_at > limits.credentials_stale_ms_max) {
        throw new CodedError('unavailable', { ...retryLater, cause })
      }
      return [keyOf(ask), entry]
    })
    return new Map(entries)
  }

  return {
    async find(asks) {
      const answers = new Map<string, Entry | undefined>(asks.map((ask) => [keyOf(ask), known.get(keyOf(ask))]))
      const missing = asks.filter((ask) => now() - (answers.get(keyOf(ask))?.loaded_at ?? -Infinity) >= fresh_ms)
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
      return (ask) => answers.get(keyOf(ask))?.rates ?? null
    },
  }
}

const keyOf = ({ day, currency }: FxAsk): string => `${day}/${currency}`

async function queryRates(pool: Pool, asks: readonly FxAsk[]): Promise<Map<string, EurRates>> {
  const { rows } = await pool.query<FxAsk & EurRates>({
    name: 'fx_rates',
    // EUR has no rate of its own: any day that has USD has it.
    text: `
      SELECT asked.day::text AS day, asked.currency, found.usd, found.units
      FROM unnest($1::date[], $2::text[]) AS asked(day, currency)
      CROSS JOIN LATERAL (
        SELECT dollar.units_per_eur::text AS usd,
          CASE asked.currency WHEN 'EUR' THEN '1' ELSE own.units_per_eur::text END AS units
        FROM fx_rates own JOIN fx_rates dollar ON dollar.currency = 'USD' AND dollar.day = own.day
        WHERE own.currency = CASE asked.currency WHEN 'EUR' THEN 'USD' ELSE asked.currency END AND own.day <= asked.day
        ORDER BY own.day DESC LIMIT 1
      ) found`,
    values: [asks.map(({ day }) => day), asks.map(({ currency }) => currency)],
  })
  return new Map(rows.map(({ usd, units, ...ask }) => [keyOf(ask), { usd, units }]))
}
