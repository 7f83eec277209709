/** Every limit of the product, unit last in its name. Sources: interface.md "Limits", decisions.md "Events". */
export const limits = {
  /** `/event` and `/privacy/delete`, on the wire (decisions.md "Bodies"). */
  sdk_body_bytes_max: 1024 * 1024,
  /** `/event` and `/privacy/delete`, after gunzip. */
  sdk_inflated_bytes_max: 8 * 1024 * 1024,
  /** `/s2s/event`, on the wire and after gunzip. */
  s2s_body_bytes_max: 256 * 1024,
  /** `/s2s/events/bulk`, on the wire and after gunzip. */
  bulk_body_bytes_max: 8 * 1024 * 1024,
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
  /** How far an event may lie in the future of the server's clock. */
  event_ts_ahead_ms_max: 24 * 3600 * 1000,
  /** What the log takes of one record: Kafka's default `max.message.bytes`, less some room for framing and headers. */
  log_record_bytes_max: 1_000_000,
  /** A larger envelope is split into several log records (Kafka refuses 1 MiB by default). */
  record_bytes_max: 512 * 1024,
  /** A request header that is stored with events (`User-Agent`, `X-Service-Sdk`, ...) is cut here. */
  stored_header_chars_max: 512,
  /** Per server key, S2S and reports together, in any `key_requests_window_ms` (interface.md "Limits"). */
  key_requests_max: 1000,
  key_requests_window_ms: 60_000,
  /** Ingest requests of one process that are worked on at the same time; more are 503. Chosen by the bench `overload`: all are done in a second. */
  requests_in_flight_max: 128,
  /** All their bodies, on the wire and inflated. */
  body_bytes_in_flight_max: 64 * 1024 * 1024,
  /** From the reservation of quota to the answer of its request: one audit write and one publish, with time to spare. */
  reservation_ms_max: 20_000,
  /** New erasure requests of one app in any `erasures_window_ms`. */
  erasures_max: 100,
  erasures_window_ms: 60_000,
  /** How long an install is known to be queued for erasure; a request after that is stored once more. */
  erasure_mark_kept_ms: 7 * 24 * 3600 * 1000,
  /** Connections of one process; more are closed at once. */
  connections_max: 10_000,
  /** Connections that wait to be taken while the process is busy; beyond, TCP lets clients wait for seconds. */
  connections_waiting_max: 4096,
  /** Of one request, all of its headers; more are 431. */
  header_bytes_max: 16 * 1024,
  /** Header lines of one request; more are 431. */
  headers_max: 100,
  /** From the first byte of a request to the last of its headers; late ones are 408. */
  headers_wait_ms_max: 10_000,
  /** From the first byte of a request to the last of its body; late ones are 408. */
  request_wait_ms_max: 30_000,
  /** A connection on which nothing moves while a request is under way. */
  silence_ms_max: 30_000,
  /** A connection between two requests: longer than load balancers keep theirs, which is mostly 60 s. */
  keep_alive_ms: 75_000,
  /** How often late requests are looked for. */
  lateness_check_ms: 2000,
  /** What a process that stops waits for requests under way, before it closes their connections. */
  drain_ms_max: 10_000,
  /** `POST /admin/api/v1/fx-rates`; the ECB's whole history since 1999 is 2 MB. */
  fx_csv_bytes_max: 8 * 1024 * 1024,
  report_window_days_max: 365,
  report_limit_max: 1000,
  report_limit_default: 100,
  report_window_default_ms: 30 * 24 * 3600 * 1000,
  audit_group_linger_ms: 50,
  audit_group_bytes_max: 4 * 1024 * 1024,
  credentials_fresh_ms: 10_000,
  credentials_stale_ms_max: 10 * 60_000,
} as const
