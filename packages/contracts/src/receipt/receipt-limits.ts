/** Limits of receipts and of the requests to stores (docs/receipts.md). */
export const receiptLimits = {
  /** `props.receipt` as JSON. */
  receipt_bytes_max: 32 * 1024,
  /** Google's tokens have about 150 characters. */
  purchase_token_chars_max: 2048,
  /** Its product id and an id of a transaction. */
  receipt_id_chars_max: 256,
  /** A store is asked for a verdict for so long; then the last one stays. */
  receipt_tries_ms_max: 72 * 3_600_000,
  /** A process that was killed delays the receipts that it had in hand for so long. */
  receipt_lease_ms: 120_000,
  /** Pauses between two tries: they double. */
  receipt_retry_ms_min: 1000,
  receipt_retry_ms_max: 60_000,
  /** Receipts that wait for their store or for credentials for so long need attention. */
  receipts_late_ms: 3_600_000,
  /** Requests of a process for an app to one store in a second, within the quota of both stores. */
  store_requests_per_s_max: 40,
  /** A store's answer about a purchase, and one that knows none, are kept for so long. */
  store_answer_kept_ms: 86_400_000,
  store_denial_kept_ms: 3_600_000,
  /** A notification waits for the receipt that names its install for so long. */
  store_notification_kept_ms: 30 * 86_400_000,
  /** A request to a store ends after this time. */
  store_request_ms_max: 10_000,
  /** A connection to a store is made within this time. */
  store_connect_ms_max: 5000,
  /** A larger answer counts as no answer. */
  store_answer_bytes_max: 256 * 1024,
  /** Requests of a process to one store at once; more wait. */
  store_connections_max: 16,
  /** Headers of signed transactions, with their certificates, that a process remembers. Apple signs with a few at a time. */
  proven_headers_max: 64,
  /** Private keys of a store as text, far above what the stores hand out. */
  store_key_chars_max: 8192,
  /** An app asks the stores for a check so often in the window. */
  store_checks_max: 10,
  store_checks_window_ms: 60_000,
  /** A notification of a store on the wire. */
  store_notification_bytes_max: 64 * 1024,
  /** Whole UTC days for which audit objects of notifications are kept. */
  store_notification_days_max: 35,
  /** Keys of Google that prove notifications are fetched again after this time, and after a failure or for an unknown key after this: */
  google_certs_fresh_ms: 3600 * 1000,
  google_certs_retry_ms: 30_000,
  /** While they cannot be fetched, the last ones do for this time. */
  google_certs_stale_ms_max: 24 * 3600 * 1000,
  /** A token of Google is longer than this never. */
  google_token_chars_max: 8192,
  /** Audience and service account of the tokens of Pub/Sub. */
  google_push_chars_max: 512,
  /** Clocks of Google and of this service may differ by this. */
  google_clocks_differ_ms_max: 60_000,
} as const
