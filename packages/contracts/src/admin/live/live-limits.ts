/** Limits of the live view of an app (docs/people.md#live-view). */
export const liveLimits = {
  /** How often gateways look which apps are watched, and watchers say so; one that says nothing for longer is gone. */
  live_watch_ms: 1000,
  live_watch_ms_max: 3000,
  /** Apps that are watched at the same time, and those of one company. */
  live_apps_max: 500,
  live_apps_of_company_max: 125,
  /** How often gateways write to the feed of an app, and how often it is read. */
  live_flush_ms: 500,
  live_read_ms: 250,
  /** How long the feed keeps what was written, and how many writes of all gateways. */
  live_kept_ms: 10_000,
  live_writes_max: 256,
  /** Of one app in one write of one gateway: each kind of event apart, and those that no signature proves. */
  live_events_of_write_max: 50,
  live_unproven_of_write_max: 5,
  /** Bytes that a gateway writes at a time: of all apps, and of those of one company. */
  live_write_bytes_max: 256 * 1024,
  live_write_bytes_of_company_max: 64 * 1024,
  /** Bytes of bodies that a gateway reads for one write of one app, and for those of all apps. */
  live_read_bytes_max: 256 * 1024,
  live_read_bytes_of_all_max: 1024 * 1024,
  /** The part of a body that is read. */
  live_body_bytes_max: 64 * 1024,
  /** Characters of the JSON of an event; more are cut. */
  live_raw_chars_max: 2048,
  /** Characters of the message of a refusal. */
  live_message_chars_max: 512,
  /** Events a second of one stream; those that no signature proves have this part of it. */
  live_events_per_s_max: 50,
  live_unproven_per_s_max: 10,
  /** Characters that wait for a slow reader; it misses what comes beyond. */
  live_waiting_chars_max: 256 * 1024,
  /** A reader that takes nothing for so long is cut. */
  live_stalled_ms_max: 30_000,
  live_heartbeat_ms: 15_000,
  /** How often it is asked whether sessions of streams go on. */
  live_session_ms: 1000,
  /** Streams end when so many looks in a row got no answer. */
  live_unanswered_max: 3,
  /** Streams of one process; those of people in one session, of one person, and over the apps of one company. */
  live_streams_max: 1000,
  live_streams_of_session_max: 4,
  live_streams_of_person_max: 8,
  live_streams_of_company_max: 250,
  /** Streams that follow an install or a link: of one process, and over the apps of one company. */
  follow_streams_max: 40,
  follow_streams_of_company_max: 10,
  /** How often it is looked what became of what is followed. */
  follow_look_ms: 1000,
  /** Clicks on a followed link in one write of one gateway, and the characters of the partner's id that they show. */
  follow_clicks_of_write_max: 10,
  follow_ext_click_id_chars_max: 64,
  /** Events of an app that wait until the install of a click is known: their characters, and for how long. */
  follow_waiting_chars_max: 128 * 1024,
  follow_waiting_ms: 10 * 60 * 1000,
  /** Clicks that are shown with a verdict, why each lost. */
  follow_candidates_max: 20,
  /** Postbacks of one stream. */
  follow_postbacks_max: 50,
  /** A stream that follows ends after this time. */
  follow_seconds_max: 86_400,
  /** Refusals that are kept of an app and a code, and for how long. */
  refusals_kept_max: 20,
  refusals_kept_ms: 24 * 3600 * 1000,
  /** Of refusals that no signature proves, those of one address block. */
  refusals_of_block_max: 5,
  /** Between two writes of kept refusals, how many of them one gateway makes, and bytes of bodies of one app that it reads for them. */
  refusals_flush_ms: 1000,
  refusals_of_flush_max: 500,
  refusals_read_bytes_max: 128 * 1024,
  /** The same bytes of the apps of one company, and of all apps. */
  refusals_read_bytes_of_company_max: 256 * 1024,
  refusals_read_bytes_of_all_max: 1024 * 1024,
  /** Rings that wait to be written, and those of one company. */
  refusals_waiting_max: 2000,
  refusals_waiting_of_company_max: 250,
} as const
