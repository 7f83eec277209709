/** An app with what matches Apple's postbacks to it, and its settings that act when a report is read. */
export interface StoreApp {
  app_id: string
  company_id: string
  /** Digits of the item id without leading zeros; null for an app that no postback belongs to. */
  store_id: string | null
  /** Whether postbacks of development keys count. */
  development_keys: boolean
  /** Whether money of unverified receipts counts in no report (docs/rules.md#receipts-and-money). */
  valid_receipts_only: boolean
}

/** Apps by their id and by Apple's item id, kept in memory like credentials (promises: see `Credentials`). */
export interface StoreApps {
  find(app_id: string): Promise<StoreApp | null>
  /** The one app that owns the item id (digits without leading zeros), of whatever company; null when none does. */
  findOwner(store_id: string): Promise<StoreApp | null>
  /** The item ids of all apps that own theirs, read from PostgreSQL itself. Rejects while it is away. */
  ownedItems(): Promise<string[]>
  close(): Promise<void>
}
