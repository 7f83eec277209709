/** The limits of reports and of the settled figures that they read. `limits` (limits.ts) has all of them. */
export const reportLimits = {
  report_window_days_max: 365,
  report_limit_max: 1000,
  report_limit_default: 100,
  report_window_default_ms: 30 * 24 * 3600 * 1000,
  /** Rows that one turn gives to a CSV answer of all rows (docs/decisions/reports.md#an-export-reads-its-rows-by-periods). */
  report_csv_page_rows: 5000,
  /**
   * An export of a fixed window is held back for its tag up to so much text and time; a longer one has none. The load balancer
   * waits 45 s for the first byte.
   */
  report_csv_tagged_chars_max: 2 * 1024 * 1024,
  report_csv_tagged_ms_max: 5000,
  /** Currencies in the header `X-Missing-Rates`; clients take 16 KiB of headers. */
  report_missing_rates_max: 300,
  /** An answer of a report is compressed from this size on. */
  report_compressed_bytes_min: 1024,
  /** Name of a partner (docs/rules.md#report-filters). */
  partner_chars_max: 64,
  /** Values of one filter of a report. */
  report_filter_values_max: 100,
  /** Dimensions in the parameter `by` of a report. */
  report_dimensions_max: 5,
  /** Rows of an answer of the report `performance` on all pages; more are refused. */
  report_grouped_rows_max: 100_000,
  /** Numbers in the parameter `days` of a report, and the largest of them. */
  report_days_max: 10,
  report_day_max: 365,
  /** The window of a raw answer. */
  raw_window_days_max: 31,
  /** Raw answers of one process, of all apps; each app has one. */
  raw_answers_max: 4,
  /** Answers of what-if of one process, of all apps; each app has one. */
  what_if_answers_max: 2,
  /** Memory of the statement that reads the installs of a what-if; the rest is sorted on the disk. */
  what_if_memory_bytes_max: 400_000_000,
  /** A reader of a raw answer that takes nothing for so long is cut off. */
  raw_stalled_ms_max: 60_000,
  /** Memory of a raw answer on the embedded engine. */
  embedded_raw_memory_bytes_max: 300_000_000,
  /** Rows of one answer of erasures: the window of a longer one ends earlier. */
  raw_erasures_max: 10_000,
  /** Time that raw erasures keep a row. */
  raw_erasures_kept_days: 62,
  /** Newest decisions on an install that its record tells of; older ones are left out. */
  install_decisions_max: 1000,
  /** User ids of an install that its record tells of, from the first on. */
  install_identities_max: 1000,
  install_receipts_max: 1000,
  /** Rows of one kind that a look-up of an id shows, */
  find_rows_max: 100,
  /** the longest id, */
  find_chars_max: 256,
  /** events that one statement of it reads, */
  find_slice_events: 5_000_000,
  /** and the time after which it reads no older ones. */
  find_ms_max: 10_000,
  /** Look-ups of one person that wait: one runs at a time. */
  finds_waiting_max: 4,
  /** Apps of which one overview shows the figures. */
  overview_apps_max: 10,
  /** Installs that one statement of a list of installs reads. */
  install_slice_rows: 50_000,
  /** Reports of one server key that one process runs at the same time (docs/decisions/reports.md#reports-take-fair-turns). */
  key_reports_running_max: 4,
  /** Further reports of one server key that wait for their turn; the next one is 429. */
  key_reports_waiting_max: 32,
  /** Reports of one server key that wait, run, or have an answer that the client has not read to its end. */
  key_reports_open_max: 72,
  company_reports_running_max: 8,
  /** Reports of all companies that one process runs at the same time on a ClickHouse server. */
  reports_running_max: 16,
  /** The same on the embedded engine. It runs one statement at a time: the second report converts its money meanwhile. */
  embedded_reports_running_max: 2,
  /** A report that waits longer for its turn is 503. */
  report_wait_ms_max: 10_000,
  /** A report that runs longer is 503. */
  report_run_ms_max: 30_000,
  /** Memory of one statement of a report on a ClickHouse server of 16 GB. */
  report_memory_bytes_max: 4_000_000_000,
  /** The same on the embedded engine, which may use 1.1 GB in all. */
  embedded_report_memory_bytes_max: 600_000_000,
  /** Rows that one statement of a report gives to this process, as ClickHouse holds them; here they take five times that. */
  report_result_bytes_max: 64_000_000,
  /** Threads of one statement of a report. */
  report_threads_max: 2,
  /** Advertised apps of one publisher whose owners a report looks up each; of more it reads which apps there are. */
  report_published_items_max: 10_000,
  /** Groups of a day in the report `skan` with nothing proven that have a row of their own; the others are folded. */
  report_unproven_groups_max: 1000,
  /** Pause of the settler between two searches for days that are due. */
  settle_pause_ms: 20_000,
  /** The settler leaves a day alone that changed in this time: a busy day would be settled in vain. */
  settle_quiet_ms: 600_000,
  /**
   * It settles a day of money again after so many changes, quiet or not: a report looks each of them up
   * (docs/decisions/money.md#late-money-is-added-to-a-settled-day).
   */
  settle_changes_max: 8,
  /**
   * It settles the money of today when so many changes came since it last did, and this part of all changes of the day
   * (docs/decisions/money.md#money-of-today-is-settled-while-it-comes). The second part holds where the last row was spoilt by a change that
   * did more than add events, since another one may spoil the next.
   */
  settle_today_changes_min: 1000,
  settle_today_divisor: 16,
  settle_today_spoilt_divisor: 4,
  /**
   * The row of a day that goes on changing leaves out what was received in this time: partitions do not write in the order of receipt, and
   * clocks of gateways differ.
   */
  settle_left_out_ms: 30_000,
  /** The job leaves a day alone for so long after the engine refused a statement of it alone. */
  settle_refused_ms: 600_000,
  /** Memory of one statement of the settler: less than a report has, since it runs beside all else. */
  settle_memory_bytes_max: 400_000_000,
  /**
   * Days of the first statement of the settler for an app (docs/decisions/reports.md#the-settler-is-a-part-of-housekeeper). A statement
   * below half of `settle_statement_ms` doubles them, one above all of it halves them.
   */
  settle_days_first: 8,
  settle_cohort_days_first: 32,
  /** A statement of the settler that takes longer is long: it holds a session. */
  settle_statement_ms: 1000,
  /** Days of a statement at most. */
  settle_days_max: 64,
  settle_cohort_days_max: 256,
  /** After this time `POST /settle` begins no further statement, so that no proxy takes the connection for idle. */
  settle_ms_max: 10_000,
  /** Days whose stamps the settler reads at a time. */
  settle_page: 5000,
} as const
