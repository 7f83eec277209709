import { liveLimits } from './admin/live/live-limits.ts'
import { peopleLimits } from './admin/people/people-limits.ts'
import { costLimits } from './costs/cost-limits.ts'
import { partnerLimits } from './partner/partner-limits.ts'
import { receiptLimits } from './receipt/receipt-limits.ts'
import { reportLimits } from './report-limits.ts'
import { traceLimits } from './traces/trace-limits.ts'

/** Milliseconds of an hour, and of a day of 24 hours. */
export const hour_ms = 3600 * 1000
export const day_ms = 24 * hour_ms

/** Days after which the tables drop clicks by themselves. */
const click_days_max = 90

/** Every limit of the product, its unit last in its name. docs/rules.md holds the rules that they bound. */
export const limits = {
  ...reportLimits,
  ...peopleLimits,
  ...liveLimits,
  ...costLimits,
  ...partnerLimits,
  ...receiptLimits,
  ...traceLimits,
  /** What needs attention (docs/people.md#what-needs-attention): a consumer that is so far behind, */
  attention_lag_ms: 5 * 60 * 1000,
  /** a part of a quota above this, */
  attention_quota_share: 0.8,
  /** an old signing secret that ends so soon, */
  attention_secret_ms: day_ms,
  /** and an app without events that had some in this time. */
  attention_silent_days_max: 30,
  /** Facts of the installation are kept so long. */
  attention_fresh_ms: 60_000,
  /** Requests of a person in a minute; people whose companies are looked at at once, and those that wait. */
  attention_requests_max: 60,
  attention_looks_max: 2,
  attention_waiting_max: 256,
  /** The daily notice goes at this hour (UTC), and after a failure again after this time, which doubles: 5 tries take half an hour. */
  attention_notice_hour: 6,
  attention_notice_retry_ms: 2 * 60 * 1000,
  attention_notice_tries_max: 5,
  /** Longest wait for a webhook. */
  attention_webhook_ms_max: 10_000,
  /** Things in a notice, and characters of each text in it. */
  attention_notice_items_max: 500,
  attention_notice_chars_max: 500,
  /** Addresses of `TRIBUTARY_ATTENTION_MAIL`. */
  attention_addresses_max: 20,
  /** `/event` and `/privacy/delete`, on the wire (docs/rules.md#bodies). */
  sdk_body_bytes_max: 1024 * 1024,
  /** `/event` and `/privacy/delete`, after gunzip. */
  sdk_inflated_bytes_max: 8 * 1024 * 1024,
  /** `/s2s/event`, on the wire and after gunzip. */
  s2s_body_bytes_max: 256 * 1024,
  /** `/s2s/events/bulk`, on the wire and after gunzip. */
  bulk_body_bytes_max: 8 * 1024 * 1024,
  /** The body of a route that declares no limit of its own. */
  body_bytes_max_default: 64 * 1024,
  sdk_batch_events_max: 500,
  bulk_events_max: 1000,
  event_id_chars_max: 128,
  event_name_chars_max: 128,
  install_uuid_chars_max: 64,
  /** `user_id`, `transaction_id`, `product_id`, `platform`. */
  optional_string_chars_max: 256,
  /** `props` and `device`, each, as UTF-8 JSON. */
  object_json_bytes_max: 16 * 1024,
  /** All other top-level fields of one event together, as UTF-8 JSON. Keeps one event far below one log record. */
  extra_json_bytes_max: 64 * 1024,
  /** Depth 1 is the object itself. Holds for `props`, `device` and each unknown field. */
  object_depth_max: 8,
  revenue_abs_max: 1e9,
  /** 2010-01-01T00:00:00Z. */
  event_ts_ms_min: Date.UTC(2010, 0, 1),
  /** How far ahead of the server's clock an event may be dated. */
  event_ts_ahead_ms_max: day_ms,
  /** Largest record of the log: Kafka's default `max.message.bytes`, less room for framing and headers. */
  log_record_bytes_max: 1_000_000,
  /** A larger envelope is split into several log records (Kafka refuses 1 MiB by default). */
  record_bytes_max: 512 * 1024,
  /** Request headers that are stored with events (`User-Agent`, `X-Service-Sdk`, ...) are cut to this length. */
  stored_header_chars_max: 512,
  /** The same for `X-Service-Sdk` and `X-Service-Platform`, which are stored once for each install of a batch. */
  stored_sdk_chars_max: 128,
  /** Per server key, S2S and reports together, in any `key_requests_window_ms` (docs/rules.md#requests-of-a-key). */
  key_requests_max: 1000,
  key_requests_window_ms: 60_000,
  /** Shortest `TRIBUTARY_ADMIN_TOKEN`. */
  admin_token_chars_min: 32,
  /** Wrong admin tokens of one address in a minute that are answered 401; more are 429. */
  admin_guesses_of_address_max: 60,
  /** Wrong admin tokens in a minute, of all addresses together. */
  admin_guesses_max: 600,
  admin_guesses_window_ms: 60_000,
  /** A log line that any client can cause is written once in this time, with a count. */
  refusals_log_ms: 10_000,
  /**
   * Ingest requests that one process handles at the same time; more are 503. One app or address may use half of them, a company
   * two thirds. The bench `overload` measures that a process completes about as many in a second.
   */
  requests_in_flight_max: 256,
  /**
   * Bytes of all bodies of these requests, on the wire and inflated. A quarter is for bodies whose signature is not checked yet.
   * One app or address may use half of either part, a company two thirds.
   */
  body_bytes_in_flight_max: 64 * 1024 * 1024,
  /** Bytes of request bodies in a month, for each event of the quota (docs/rules.md#bytes-of-a-month). */
  quota_event_bytes: 4096,
  /** Bytes that each record of the log counts besides the body, for its envelope. A request makes one record an install, and at least one. */
  quota_record_bytes: 1024,
  /** Bytes of request bodies in a month that even a small quota allows. */
  quota_bytes_min: 1024 * 1024 * 1024,
  /** Maximum time between the reservation of quota and the answer: for an audit write, a publish, and a margin. */
  reservation_ms_max: 20_000,
  /** Requests of one batch of the eraser, and rows that it reads of a table. */
  erasure_requests_max: 25,
  erasure_rows_max: 1000,
  /** Hour of the day, UTC, from which the eraser makes its nightly run. */
  erasure_hour_utc: 2,
  /** `/health` and `tributary doctor` report an erasure request that waits longer than this, two nights. */
  erasure_late_ms: 2 * day_ms,
  /** If an erasure waits longer for an open batch of a consumer, log and metrics name that batch. */
  erasure_wait_logged_ms: 60_000,
  /** Maximum time that apps whose rows are deleted wait for the other apps before their erasures are completed. */
  erasure_finish_pause_ms: 30 * 60_000,
  /** Time of one call of `POST /erasures/run`. */
  erasure_run_wait_ms_max: 10_000,
  /** Batches that a run lists. */
  erasure_batches_listed_max: 1000,
  /** New erasure requests of one app in any `erasures_window_ms`. */
  erasures_max: 100,
  /** Further ones for installs whose events a gateway accepted lately, from addresses that have sent few requests. */
  erasures_of_known_max: 100,
  /** The same for other installs. */
  erasures_of_unknown_max: 50,
  /** New erasure requests up to which an address (IPv6: /64) has sent few. */
  erasures_of_address_few: 10,
  /** Installs that a gateway remembers in each of two sets: the newest ones, and those before them. */
  known_installs_max: 400_000,
  erasures_window_ms: 60_000,
  /** How long a gateway knows that an install is queued for erasure; a request after that is stored once more. */
  erasure_mark_kept_ms: 7 * day_ms,
  /** Maximum time for marks of gateways to end before an erasure begins. Requests that come meanwhile are stored, whatever is queued. */
  erasure_begin_ms: 60_000,
  /** A body that arrives more slowly on average is answered 408, after `slow_body_grace_ms`. */
  body_bytes_per_s_min: 16 * 1024,
  /** Time before `body_bytes_per_s_min` holds, for the round trips of a phone on a bad network. */
  slow_body_grace_ms: 5000,
  slow_body_check_ms: 1000,
  /**
   * Largest body that the event loop inflates, and parses if it has the form that SDKs send. Larger ones go to a thread of their
   * own.
   */
  inline_inflated_bytes_max: 512 * 1024,
  /** The same for JSON of any other form: the worst, arrays in arrays, takes 100 ns a byte. */
  inline_json_bytes_max: 128 * 1024,
  /** Time of the event loop for all bodies, with shares as above. Beyond it, the thread parses them. */
  inline_judge_ms_per_s: 800,
  /** The worst 8 MiB of JSON take 224 MB. */
  judge_thread_heap_mb_max: 256,
  /** Bodies of one app that wait for the thread; more are 503. */
  judge_thread_waiting_max: 32,
  /** Time of a body from its arrival to the end of the thread's work; later ones are 503. Less than `silence_ms_max`. */
  judge_thread_wait_ms_max: 15_000,
  /** After a body of more inflated bytes the thread collects its garbage at once. */
  judge_thread_kept_bytes_max: 1024 * 1024,
  judge_thread_idle_ms: 10_000,
  /** Connections of one process. One address may have as many as it leaves free; more are closed at once. */
  connections_max: 10_000,
  /** Connections that wait to be accepted while the process is busy. Beyond it clients wait for seconds, by TCP. */
  connections_waiting_max: 4096,
  /** All headers of one request; more are 431. */
  header_bytes_max: 16 * 1024,
  /** Header lines of one request; more are 431. */
  headers_max: 100,
  /** Maximum time between the first byte of a request and the last of its headers; later ones are 408. */
  headers_wait_ms_max: 10_000,
  /** Maximum time between the first byte of a request and the last of its body; later ones are 408. */
  request_wait_ms_max: 30_000,
  /** A connection without any bytes for so long, while a request is under way, is closed. */
  silence_ms_max: 30_000,
  /** Time of an idle connection between two requests: longer than load balancers keep theirs, mostly 60 s. */
  keep_alive_ms: 75_000,
  /** Time between two searches for requests that are too late. */
  lateness_check_ms: 2000,
  /** How long a stopping process waits for open requests before it closes their connections. */
  drain_ms_max: 10_000,
  /** `Retry-After` of a 503 whose error names no other time. */
  retry_after_s: 5,
  /** `Retry-After` of a short refusal: too many requests in flight, or a dependency that is tried again at once. */
  retry_soon_s: 1,
  /** `POST /admin/api/v1/fx-rates`; the ECB's whole history since 1999 is 2 MB. */
  fx_csv_bytes_max: 8 * 1024 * 1024,
  /** How long a process uses exchange rates from memory. A request that loads rates is answered after this time, when all have them. */
  fx_rates_fresh_ms: 2_000,
  /** The document of `TRIBUTARY_AAK_JWKS_URL`, how long it is waited for, and how long it holds. */
  postback_keys_bytes_max: 64 * 1024,
  postback_keys_wait_ms_max: 5000,
  postback_keys_fresh_ms: hour_ms,
  /** Postbacks that postback-writer takes as one batch, and their bytes. */
  postback_batch_rows_max: 2000,
  postback_batch_bytes_max: 8 * 1024 * 1024,
  /** Time between two searches for unverifiable postbacks while no key changes, and their maximum age. */
  postback_judging_pause_ms: hour_ms,
  postback_unverifiable_ms_max: 30 * day_ms,
  audit_group_linger_ms: 50,
  audit_group_bytes_max: 4 * 1024 * 1024,
  /** Minimum time between two audit objects of postbacks in a folder. It is shorter than for events, whose answers may wait longer. */
  postback_group_rest_ms: 5,
  /** Characters of `click_id` and `sub1` to `sub5` of a click; longer ones are cut (docs/rules.md#tracking-links). */
  click_value_chars_max: 512,
  /** Clicks of a company from one network (IPv4 /24, IPv6 /48) in any `clicks_window_ms`; more are not counted. */
  clicks_max: 300,
  clicks_window_ms: 60_000,
  /** Kinds of filtered clicks that a process counts in memory until it writes one row for all of a kind. */
  unwritten_clicks_kinds_max: 10_000,
  /** How long a hit of a honeypot blocks an address for the links of the company. */
  honeypot_block_ms: day_ms,
  /** How long a click waits for others that are published with it. */
  click_gather_ms: 4,
  /** How long a redirect waits for its click to be on the log. */
  click_wait_ms_max: 250,
  /** Clicks of one process on their way to the log. Further ones are lost at once, so clicks fill no memory while the log is away. */
  clicks_under_way_max: 20_000,
  /** Queries for unknown links of one address (IPv6: /64) in a minute. Beyond it links that are not in memory are 404. */
  unknown_links_of_address_max: 300,
  unknown_links_window_ms: 60_000,
  /** Addresses whose unknown links one process counts. */
  unknown_links_addresses_max: 10_000,
  /** User agents of which a link gateway remembers the platform, and whether they are bots. */
  user_agents_remembered_max: 2_000,
  /** A postback on the wire (docs/rules.md#postbacks). */
  postback_body_bytes_max: 8 * 1024,
  /** Postbacks of both protocols from one address (IPv6: /64) in any `postbacks_window_ms`; more are 429. */
  postbacks_max: 600,
  postbacks_window_ms: 60_000,
  /** Stored postbacks of one address, and of all, on a UTC day; beyond, only what a key proves is stored (docs/rules.md#budgets-of-postbacks). */
  postback_address_day_bytes_max: 64 * 1024 * 1024,
  postbacks_day_bytes_max: 2 * 1024 * 1024 * 1024,
  /** Bytes that each postback counts besides body and content type: what log and tables store of it. */
  postback_record_bytes: 256,
  /** Counters of stored bytes on a day. Addresses share them, so strangers cannot fill the memory. */
  postback_address_counters_max: 65_536,
  /** Postbacks with the same signed content that are stored on a day beyond a budget: senders can vary the unsigned rest. */
  postback_proven_copies_max: 8,
  /** How long counters of a day are kept. */
  postback_budget_kept_ms: 2 * day_ms,
  /** Whole UTC days for which audit objects of postbacks are kept, and rows of those that no signature proves. */
  postback_unproven_days_max: 35,
  /** How long the bytes of a stored postback are remembered: the same bytes are not stored again. */
  postback_remembered_ms: 10 * 60_000,
  /** Postbacks that one process remembers in that time. Further ones are stored, and stored again when they are repeated. */
  postbacks_remembered_max: 500_000,
  /** How long a repeated postback waits for the gateway that stores the first one, which may have crashed. */
  postback_claim_ms_max: 10_000,
  /** First and last pause between two looks of such a wait; each is twice as long: many copies must not keep Redis busy. */
  postback_claim_poll_ms: 25,
  postback_claim_poll_ms_max: 400,
  credentials_fresh_ms: 10_000,
  credentials_stale_ms_max: 10 * 60_000,
  /** Maximum time that an old signing secret stays valid beside the new one: a year, as some users rarely update an app. */
  secret_overlap_hours_max: 365 * 24,
  /** The same where the rotation names no time. */
  secret_overlap_hours_default: 24,
  /** Old signing secrets of one app that are valid at the same time. Each costs one more HMAC a request. */
  old_secrets_max: 3,
  /** Maximum time from a click to an install of which it is a candidate (docs/rules.md#candidates): the longest window of a link. */
  candidate_lookback_ms_max: 30 * day_ms,
  /** How long after an install a click of the same device is shown as a candidate, which never wins. */
  candidate_device_after_ms: day_ms,
  /** The same for a click with an alike address and device. */
  candidate_address_after_ms: hour_ms,
  /** Candidates of one install. Of one device or address as many clicks before it that may win are read. */
  install_candidates_max: 50,
  /** Candidates that can't win. Of one device or address as many filtered clicks before the install are read. */
  candidates_lost_max: 20,
  /** Clicks of one device or address after an install that are its candidates: the earliest. Others cause no re-decision. */
  candidates_after_max: 5,
  /** Number of install facts before an install that makes a key of it crowded. As many installs after a click see it by one key. */
  crowd_facts: 50,
  /** Install events of one install and name that are read for a decision: the first on the log. Only one of them counts. */
  install_facts_max: 20,
  /** Users, from the aliases of one install, that count for a decision: the earliest. */
  install_aliases_max: 50,
  /** Install facts of one key that are read once for a batch: the latest. Earlier ones are read for each install. */
  key_facts_max: 2000,
  /** Maximum time from such a fact to an install whose device, user or click id it makes crowded. */
  crowd_window_ms: 90 * day_ms,
  /** Clicks that a decision stores in full: those that may still win after they have expired. */
  kept_clicks_max: 20,
  /** Maximum of their JSON: the weakest beyond it are left out. */
  kept_clicks_bytes_max: 16 * 1024,
  /** Moves between partners of a what-if that are explained. */
  what_if_moves_max: 10,
  /** How long an install waits for a click that we signed. */
  pending_ms_max: day_ms,
  /** Window between a click and an install, of an app or of one link: 30 days. */
  click_window_hours_max: 720,
  /** Window between an install and a reinstall. */
  reinstall_days_max: 3650,
  /** Campaign, ad group and creative of a tracking link. */
  campaign_chars_max: 128,
  /** Fallback URL and deep link of a tracking link. */
  link_url_chars_max: 2048,
  /** Tracking links of one app; a list answers all of them. */
  app_links_max: 10_000,
  /** Newest changes of the attribution settings of an app that a process knows; the defaults hold before them. */
  attribution_settings_kept_max: 1000,
  /** Maximum difference of two clocks that both count as right. A stored time further ahead is ignored (docs/clocks.md). */
  clocks_apart_ms_max: 60_000,
  /** Hour of the day, UTC, from which the nightly run of retention begins; that of erasures begins before it. */
  retention_hour_utc: 3,
  /** Pause between two checks whether retention is due. */
  retention_pause_ms: 60_000,
  /** Between two looks of the reconciler for closed hours to compare. */
  reconcile_pause_ms: 60_000,
  /** An hour is compared so long after its end: a gateway's clock may be behind. */
  reconcile_closed_ms: 600_000,
  /** A difference counts when a second look finds it, so long after the first: a request takes less from the audit store to the log. */
  reconcile_again_ms: 30_000,
  /** The next comparison takes what was received within this time: it may be on its way from the audit store to the log. */
  reconcile_young_ms: 60_000,
  /** Memory of one statement of the reconciler. */
  reconcile_memory_bytes_max: 400_000_000,
  /** What the reconciler looks at when nobody says since when: the last day. */
  reconcile_since_ms: day_ms,
  /** Differences that an answer lists, and that are kept. */
  reconcile_differences_max: 1000,
  /** Names of audit objects that the reconciler remembers to have compared; it reads them again when it has forgotten them. */
  reconcile_names_max: 1_000_000,
  /** Rows of an export that are read at a time, and in memory: a decision has up to 100 KB. */
  export_page_rows: 200,
  /** Days for which a company may keep addresses and raw events (docs/privacy.md#retention). */
  keep_days_max: 3650,
  /** Days for which a company may keep clicks. */
  keep_click_days_max: click_days_max,
  /** The same in ms: the tables drop older clicks by themselves. */
  click_kept_ms: click_days_max * day_ms,
  /** Clicks that click-writer takes as one batch, and their bytes. */
  click_batch_rows_max: 5000,
  click_batch_bytes_max: 8 * 1024 * 1024,
  /** An archive of clicks, after gunzip. */
  click_archive_bytes_max: 32 * 1024 * 1024,
  /** Largest fine conversion value of Apple's postbacks. */
  cv_fine_value_max: 63,
  /** Name of a conversion value. */
  cv_name_chars_max: 128,
  /** A schema to publish: the largest that the rules allow has 190 KB. */
  cv_schema_body_bytes_max: 256 * 1024,
  /** Newest conversion value schemas of an app that a process knows. */
  cv_schemas_kept_max: 1000,
  /** A text in a postback; Apple's have 40 at most. A longer one is of no use as an id. */
  postback_value_chars_max: 256,
  /** Network and source of a postback that no signature proves: longer ones are cut off. */
  postback_unproven_chars_max: 64,
  /** Nesting of a value in a postback; Apple nests nothing. */
  postback_depth_max: 8,
  /** Members of a JSON object in a postback; Apple's have 13 at most. More would cost more than a signature. */
  postback_members_max: 100,
  /** Keys that are taken from `TRIBUTARY_AAK_JWKS_URL`; Apple has published three. */
  postback_set_keys_max: 32,
} as const
