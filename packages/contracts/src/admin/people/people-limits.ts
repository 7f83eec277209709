/** Limits of people, their passwords and their sessions (docs/people.md). */
export const peopleLimits = {
  password_chars_min: 12,
  /** A longer one is refused: it would only cost time. */
  password_chars_max: 256,
  email_chars_max: 254,
  /** A session ends so long after its last request, */
  session_idle_ms_max: 12 * 3600 * 1000,
  /** and so long after its sign-in in any case. */
  session_ms_max: 30 * 24 * 3600 * 1000,
  /** Time for the second factor after the password. */
  session_pending_ms_max: 5 * 60 * 1000,
  /** Wrong codes after which the password must be given again. */
  session_attempts_max: 5,
  /** Time after the password in which keys are minted without it. */
  session_fresh_ms: 15 * 60 * 1000,
  /** By which the clocks of processes that know a session may differ. */
  clocks_differ_ms_max: 60_000,
  /** A process keeps what it read of a session no longer; a change is noticed sooner (`LISTEN`). */
  session_cache_ms_max: 500,
  /** The time of the last request of a session is written at most once in this time. */
  session_seen_ms: 60_000,
  /** Open sessions of a person; a new one ends the oldest. */
  person_sessions_max: 50,
  /** Saved views and notes on days of an app, and their texts. */
  app_views_max: 200,
  view_name_chars_max: 60,
  view_address_chars_max: 2000,
  app_notes_max: 1000,
  note_chars_max: 200,
  note_day_min: '2000-01-01',
  /** Browsers of a person that the guesses of others do not slow. */
  known_browsers_max: 20,
  known_browser_ms_max: 365 * 24 * 3600 * 1000,
  /** Time for a sign-in at the identity provider. */
  oidc_ms_max: 10 * 60 * 1000,
  /** Used sign-ins at the identity provider that a process remembers. */
  oidc_used_max: 10_000,
  /** A role by a claim holds so long after the sign-in that gave it. */
  claimed_role_ms: 24 * 3600 * 1000,
  /** Characters of one part of the answer of the identity provider. */
  oidc_answer_chars_max: 4096,
  /** Entries of the role claim that are read. */
  oidc_claims_max: 1000,
  /** Maximum time of one request to the identity provider. */
  oidc_wait_ms_max: 5000,
  /** What the identity provider says of itself is read again after this time, */
  oidc_discovery_ms: 3600 * 1000,
  /** and after this one where it did not answer. */
  oidc_retry_ms: 5000,
  /** Maximum time until the mail server has taken a mail. */
  mail_wait_ms_max: 10_000,
  /** Mails to one address in an hour, and those that one company causes. */
  mails_of_address_max: 5,
  mails_of_company_max: 50,
  mails_window_ms: 3600 * 1000,
  /** Invitations and resets. */
  one_time_link_ms: 24 * 3600 * 1000,
  /** Wrong passwords of a pair of account and address that are not slowed; from then on the wait doubles, */
  sign_in_failures_free: 5,
  sign_in_wait_ms: 1000,
  /** up to this. */
  sign_in_wait_ms_max: 15 * 60 * 1000,
  /** Pairs that a process remembers, and how long. */
  sign_in_pairs_max: 100_000,
  sign_in_pair_ms: 24 * 3600 * 1000,
  /** Passwords that are hashed at once, and those that wait for it. */
  password_hashes_max: 2,
  password_hashes_waiting_max: 256,
  recovery_codes: 10,
  /** Entries of one answer of the audit log as JSON. */
  audit_log_page_max: 1000,
  /** Entries of an answer as CSV. */
  audit_log_csv_max: 100_000,
  /** Entries of the audit log are kept so long: a day more than the two years before which PostgreSQL refuses to delete them. */
  audit_log_days: 732,
}
