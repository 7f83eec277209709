-- The PostgreSQL schema after all migrations. Made by `npm run dump`: do not edit.

CREATE TABLE admin_audit_log (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  at timestamp with time zone NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  subject text NOT NULL,
  detail jsonb NOT NULL,
  request_id text NOT NULL,
  company_id text,
  person_id text,
  ip text,
  before jsonb,
  CONSTRAINT admin_audit_log_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE admin_audit_log IS 'who changed what; rows are never changed, deleted after two years, and hold no secret';
COMMENT ON COLUMN admin_audit_log.actor IS 'email of a person, or the admin token';
COMMENT ON COLUMN admin_audit_log.detail IS 'what it became';
COMMENT ON COLUMN admin_audit_log.company_id IS 'the company whose thing it was; null for what is above companies';
COMMENT ON COLUMN admin_audit_log.before IS 'what the change replaced; null where nothing was';

CREATE TABLE apple_keys (
  app_id text NOT NULL,
  key_id text NOT NULL,
  iv bytea NOT NULL,
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL,
  CONSTRAINT apple_keys_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT apple_keys_iv_check CHECK ((octet_length(iv) = 12)),
  CONSTRAINT apple_keys_pkey PRIMARY KEY (app_id),
  CONSTRAINT apple_keys_tag_check CHECK ((octet_length(tag) = 16))
);
COMMENT ON TABLE apple_keys IS 'keys of the App Store Server API: JSON of issuer id, key id and private key';
COMMENT ON COLUMN apple_keys.key_id IS 'format and id of the master key that encrypted it, as in apps';

CREATE TABLE apps (
  app_id text NOT NULL,
  company_id text NOT NULL,
  app_key text NOT NULL,
  name text NOT NULL,
  platform text NOT NULL,
  bundle_id text,
  store_id text,
  provider_token text,
  signing_secret_key_id text NOT NULL,
  signing_secret_iv bytea NOT NULL,
  signing_secret_ciphertext bytea NOT NULL,
  signing_secret_tag bytea NOT NULL,
  created_at timestamp with time zone NOT NULL,
  development_keys boolean NOT NULL DEFAULT false,
  owns_store_id boolean NOT NULL DEFAULT true,
  google_push_audience text,
  google_push_email text,
  valid_receipts_only boolean NOT NULL DEFAULT false,
  CONSTRAINT apps_app_key_key UNIQUE (app_key),
  CONSTRAINT apps_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(company_id),
  CONSTRAINT apps_google_push_audience_check CHECK ((google_push_audience <> ''::text)),
  CONSTRAINT apps_google_push_email_check CHECK ((google_push_email <> ''::text)),
  CONSTRAINT apps_pkey PRIMARY KEY (app_id),
  CONSTRAINT apps_platform_check CHECK ((platform = ANY (ARRAY['ios'::text, 'android'::text]))),
  CONSTRAINT apps_signing_secret_iv_check CHECK ((octet_length(signing_secret_iv) = 12)),
  CONSTRAINT apps_signing_secret_tag_check CHECK ((octet_length(signing_secret_tag) = 16))
);
COMMENT ON COLUMN apps.signing_secret_key_id IS 'format and id of the master key that encrypted it, v2:1a2b3c4d (AES-256-GCM, additional data: purpose, company_id, app_id)';
COMMENT ON COLUMN apps.development_keys IS 'whether postbacks that a development key signed count; it acts when a report is read';
COMMENT ON COLUMN apps.owns_store_id IS 'false: another app has the postbacks of this store_id, which leads links alone';
COMMENT ON COLUMN apps.google_push_audience IS 'audience of the tokens; null: the address that is pushed to';
COMMENT ON COLUMN apps.google_push_email IS 'service account of the tokens; null: no notification of Google is taken';
COMMENT ON COLUMN apps.valid_receipts_only IS 'whether money of unverified receipts counts in no report; it acts when a report is read';

CREATE TABLE attention_notices (
  day date NOT NULL,
  target text NOT NULL,
  tries integer NOT NULL,
  next_try_ms bigint NOT NULL,
  entries integer NOT NULL,
  ended_at_ms bigint,
  CONSTRAINT attention_notices_entries_check CHECK ((entries >= 0)),
  CONSTRAINT attention_notices_pkey PRIMARY KEY (target, day),
  CONSTRAINT attention_notices_tries_check CHECK ((tries > 0))
);
COMMENT ON TABLE attention_notices IS 'daily notices of what needs attention, of the last 62 days';
COMMENT ON COLUMN attention_notices.day IS 'UTC';
COMMENT ON COLUMN attention_notices.target IS 'webhook, or mail: and the hash of an address';
COMMENT ON COLUMN attention_notices.next_try_ms IS 'Unix epoch ms; until then the process that claimed it may be sending it';
COMMENT ON COLUMN attention_notices.entries IS 'things that the target heard of, or may have';
COMMENT ON COLUMN attention_notices.ended_at_ms IS 'Unix epoch ms: it was sent, or there was nothing to say; null: neither';

CREATE TABLE attribution_settings (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  app_id text NOT NULL,
  valid_from timestamp with time zone NOT NULL,
  click_window_hours integer NOT NULL,
  probabilistic boolean NOT NULL,
  probabilistic_window_hours integer NOT NULL,
  reinstall_days integer NOT NULL,
  CONSTRAINT attribution_settings_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT attribution_settings_click_window_hours_check CHECK ((click_window_hours > 0)),
  CONSTRAINT attribution_settings_pkey PRIMARY KEY (id),
  CONSTRAINT attribution_settings_probabilistic_window_hours_check CHECK ((probabilistic_window_hours > 0)),
  CONSTRAINT attribution_settings_reinstall_days_check CHECK ((reinstall_days > 0))
);
COMMENT ON TABLE attribution_settings IS 'how an app matched clicks with installs from valid_from on; before its first row the defaults hold';
COMMENT ON COLUMN attribution_settings.valid_from IS 'acts on installs that are received at this time or later';

CREATE TABLE blanking (
  id smallint NOT NULL DEFAULT 1,
  before date NOT NULL,
  CONSTRAINT blanking_id_check CHECK ((id = 1)),
  CONSTRAINT blanking_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE blanking IS 'one row, written by each run of retention before it reads an audit object';
COMMENT ON COLUMN blanking.before IS 'the UTC day on which the newest run began, or a later mark of a company: an object of an earlier day may come too late for it';

CREATE TABLE companies (
  company_id text NOT NULL,
  company_key text NOT NULL,
  name text NOT NULL,
  plan text NOT NULL,
  monthly_quota bigint,
  status text NOT NULL DEFAULT 'active'::text,
  created_at timestamp with time zone NOT NULL,
  keep_ip_days integer NOT NULL DEFAULT 30,
  keep_click_days integer NOT NULL DEFAULT 90,
  keep_raw_days integer,
  clicks_deleted_before date,
  addresses_blanked_before date,
  CONSTRAINT companies_company_key_key UNIQUE (company_key),
  CONSTRAINT companies_keep_click_days_check CHECK (((keep_click_days >= 1) AND (keep_click_days <= 90))),
  CONSTRAINT companies_keep_ip_days_check CHECK (((keep_ip_days >= 1) AND (keep_ip_days <= 3650))),
  CONSTRAINT companies_keep_raw_days_check CHECK (((keep_raw_days >= 1) AND (keep_raw_days <= 3650))),
  CONSTRAINT companies_monthly_quota_check CHECK ((monthly_quota >= 0)),
  CONSTRAINT companies_pkey PRIMARY KEY (company_id),
  CONSTRAINT companies_plan_check CHECK ((plan = ANY (ARRAY['free'::text, 'growth'::text, 'scale'::text, 'unlimited'::text]))),
  CONSTRAINT companies_status_check CHECK ((status = ANY (ARRAY['active'::text, 'suspended'::text])))
);
COMMENT ON COLUMN companies.monthly_quota IS 'events per UTC month; null: unlimited';
COMMENT ON COLUMN companies.keep_ip_days IS 'days after which raw addresses and user agents are blanked';
COMMENT ON COLUMN companies.keep_click_days IS 'days after which clicks are deleted';
COMMENT ON COLUMN companies.keep_raw_days IS 'days after which raw events and their audit objects are deleted; null keeps them';
COMMENT ON COLUMN companies.clicks_deleted_before IS 'clicks of earlier UTC days were deleted; never goes back';
COMMENT ON COLUMN companies.addresses_blanked_before IS 'audit objects of earlier UTC days hold no address; never goes back';

CREATE TABLE company_salts (
  company_id text NOT NULL,
  key_id text NOT NULL,
  iv bytea NOT NULL,
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL,
  CONSTRAINT company_salts_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(company_id),
  CONSTRAINT company_salts_iv_check CHECK ((octet_length(iv) = 12)),
  CONSTRAINT company_salts_pkey PRIMARY KEY (company_id),
  CONSTRAINT company_salts_tag_check CHECK ((octet_length(tag) = 16))
);
COMMENT ON TABLE company_salts IS 'keys the hashes of device ids of a company; made by the first service that needs it, never replaced while it can be read';
COMMENT ON COLUMN company_salts.key_id IS 'format and id of the master key that encrypted it, as in apps';

CREATE TABLE cv_schemas (
  app_id text NOT NULL,
  version integer NOT NULL,
  published_at timestamp with time zone NOT NULL,
  postbacks json NOT NULL,
  CONSTRAINT cv_schemas_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT cv_schemas_pkey PRIMARY KEY (app_id, version),
  CONSTRAINT cv_schemas_version_check CHECK ((version > 0))
);
COMMENT ON TABLE cv_schemas IS 'what the conversion values of an app stand for; the newest version is live';
COMMENT ON COLUMN cv_schemas.version IS 'from 1 without gaps';
COMMENT ON COLUMN cv_schemas.published_at IS 'never before that of the version before';
COMMENT ON COLUMN cv_schemas.postbacks IS 'the schema without its version, as it was checked';

CREATE TABLE day_notes (
  note_id text NOT NULL,
  app_id text NOT NULL,
  day date NOT NULL,
  text text NOT NULL,
  person_id text,
  written_at timestamp with time zone NOT NULL,
  CONSTRAINT day_notes_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT day_notes_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(person_id) ON DELETE SET NULL,
  CONSTRAINT day_notes_pkey PRIMARY KEY (note_id),
  CONSTRAINT day_notes_text_check CHECK (((char_length(text) >= 1) AND (char_length(text) <= 200)))
);
COMMENT ON TABLE day_notes IS 'what happened on a day of an app, such as a release';
COMMENT ON COLUMN day_notes.day IS 'UTC';
COMMENT ON COLUMN day_notes.person_id IS 'who wrote it; null: the admin token, or a person who is removed';

CREATE TABLE due_postbacks (
  app_id text NOT NULL,
  install_uuid text NOT NULL,
  event_key text NOT NULL,
  partner text NOT NULL,
  settings_id bigint NOT NULL,
  idempotency_key uuid NOT NULL DEFAULT gen_random_uuid(),
  state text NOT NULL DEFAULT 'due'::text,
  event_name text NOT NULL,
  content text NOT NULL,
  dated_at_ms bigint NOT NULL,
  owed_at_ms bigint NOT NULL,
  give_up_ms bigint NOT NULL,
  next_try_ms bigint NOT NULL,
  leased boolean NOT NULL DEFAULT false,
  tries integer NOT NULL DEFAULT 0,
  reason text,
  ended_at_ms bigint,
  CONSTRAINT due_postbacks_pkey PRIMARY KEY (app_id, install_uuid, event_key, partner),
  CONSTRAINT due_postbacks_settings_id_fkey FOREIGN KEY (settings_id) REFERENCES partner_postbacks(settings_id),
  CONSTRAINT due_postbacks_state_check CHECK ((state = ANY (ARRAY['due'::text, 'delivered'::text, 'dead'::text, 'erased'::text])))
);
COMMENT ON TABLE due_postbacks IS 'postbacks that partners are owed, of the last 14 days: one row each for ever, whatever is read again';
COMMENT ON COLUMN due_postbacks.event_key IS 'install, test/ and a number, or the day and the key of an event';
COMMENT ON COLUMN due_postbacks.content IS 'JSON of the values of the macros: they never change; empty once it was delivered';
COMMENT ON COLUMN due_postbacks.dated_at_ms IS 'the earlier of receipt and date of its event, Unix epoch ms: an erasure takes what is dated up to its mark';
COMMENT ON COLUMN due_postbacks.give_up_ms IS 'Unix epoch ms: no try begins later';
COMMENT ON COLUMN due_postbacks.next_try_ms IS 'Unix epoch ms; while leased the end of the lease';
COMMENT ON COLUMN due_postbacks.leased IS 'a process tries it now, or was killed in the try';
COMMENT ON COLUMN due_postbacks.tries IS 'names the newest try: another one changes nothing any more';

CREATE TABLE due_receipts (
  app_id text NOT NULL,
  install_uuid text NOT NULL,
  day date NOT NULL,
  event_key numeric(20,0) NOT NULL,
  topic text NOT NULL,
  partition integer NOT NULL,
  "offset" bigint NOT NULL,
  event_name text NOT NULL,
  product_id text,
  transaction_id text,
  receipt text,
  asks text,
  dated_at_ms bigint NOT NULL,
  tried_from_ms bigint NOT NULL,
  next_try_ms bigint NOT NULL,
  tries integer NOT NULL DEFAULT 0,
  lease uuid,
  reason text,
  CONSTRAINT due_receipts_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT due_receipts_asks_check CHECK ((asks = ANY (ARRAY['apple'::text, 'google'::text]))),
  CONSTRAINT due_receipts_pkey PRIMARY KEY (app_id, topic, partition, "offset", event_key, day)
);
COMMENT ON TABLE due_receipts IS 'receipts that no verdict is final of, of 72 hours at most';
COMMENT ON COLUMN due_receipts.receipt IS 'JSON of props.receipt; null: a store sent the event itself';
COMMENT ON COLUMN due_receipts.asks IS 'the store that has to be asked; null: the receipt proves itself';
COMMENT ON COLUMN due_receipts.dated_at_ms IS 'the earlier of receipt and date of its event, Unix epoch ms: an erasure takes what is dated up to its mark';
COMMENT ON COLUMN due_receipts.tried_from_ms IS 'Unix epoch ms: the store is asked for 72 hours from then on';
COMMENT ON COLUMN due_receipts.next_try_ms IS 'Unix epoch ms; under a lease its end';
COMMENT ON COLUMN due_receipts.lease IS 'names the newest try: another one changes nothing any more';
COMMENT ON COLUMN due_receipts.reason IS 'why the last try had no final verdict; null before one ended';

CREATE TABLE erased_objects (
  app_id text NOT NULL,
  audit_key text NOT NULL,
  notes integer NOT NULL DEFAULT 1,
  CONSTRAINT erased_objects_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT erased_objects_pkey PRIMARY KEY (app_id, audit_key)
);
COMMENT ON TABLE erased_objects IS 'audit objects of requests with events that a consumer dropped as erased; the next run rewrites them and removes the row';
COMMENT ON COLUMN erased_objects.audit_key IS 'as in the answer to the request: without the prefix of the app';
COMMENT ON COLUMN erased_objects.notes IS 'how often it was noted: a run removes only what it has seen';

CREATE TABLE erasure_batches (
  batch uuid NOT NULL,
  app_id text NOT NULL,
  run bigint NOT NULL,
  tombstones bigint NOT NULL,
  plan jsonb NOT NULL,
  CONSTRAINT erasure_batches_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT erasure_batches_app_id_key UNIQUE (app_id),
  CONSTRAINT erasure_batches_pkey PRIMARY KEY (batch),
  CONSTRAINT erasure_batches_run_fkey FOREIGN KEY (run) REFERENCES erasure_runs(run)
);
COMMENT ON TABLE erasure_batches IS 'what the eraser is about to do: a repeated batch does what stands here and looks nothing up anew';
COMMENT ON COLUMN erasure_batches.tombstones IS 'no consumer may be at work with fewer than these';

CREATE TABLE erasure_clicks (
  app_id text NOT NULL,
  click_id text NOT NULL,
  install_uuid text NOT NULL,
  CONSTRAINT erasure_clicks_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT erasure_clicks_pkey PRIMARY KEY (app_id, click_id)
);
COMMENT ON TABLE erasure_clicks IS 'erased clicks whose archives are not rewritten yet';

CREATE TABLE erasure_requests (
  app_id text NOT NULL,
  install_hash bytea NOT NULL,
  install_uuid text,
  asked_by text NOT NULL,
  requested_at_ms bigint NOT NULL,
  erased_up_to_ms bigint NOT NULL DEFAULT 0,
  mark_ms bigint,
  tombstones bigint,
  emptied_at_ms bigint,
  marks jsonb NOT NULL DEFAULT '[]'::jsonb,
  drained_at_ms bigint,
  rows jsonb NOT NULL DEFAULT '{}'::jsonb,
  objects_rewritten bigint NOT NULL DEFAULT 0,
  unreadable bigint NOT NULL DEFAULT 0,
  asked_ms bigint[] NOT NULL DEFAULT '{}'::bigint[],
  CONSTRAINT erasure_requests_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT erasure_requests_asked_by_check CHECK ((asked_by = ANY (ARRAY['sdk'::text, 'admin'::text]))),
  CONSTRAINT erasure_requests_install_hash_check CHECK ((octet_length(install_hash) = 16)),
  CONSTRAINT erasure_requests_pkey PRIMARY KEY (app_id, install_hash),
  CONSTRAINT erasure_requests_requested_at_ms_check CHECK ((requested_at_ms > 0))
);
COMMENT ON TABLE erasure_requests IS 'requests to erase an install; once it is erased, a keyed hash is all that is left of its id';
COMMENT ON COLUMN erasure_requests.install_hash IS 'hash of its tombstones';
COMMENT ON COLUMN erasure_requests.install_uuid IS 'null once everything is erased and nothing else is queued';
COMMENT ON COLUMN erasure_requests.asked_by IS 'sdk: waits behind admin';
COMMENT ON COLUMN erasure_requests.requested_at_ms IS 'greatest of all requests, Unix epoch ms; behind the mark before it where a clock was behind';
COMMENT ON COLUMN erasure_requests.erased_up_to_ms IS 'mark of the last erasure that was completed, Unix epoch ms';
COMMENT ON COLUMN erasure_requests.mark_ms IS 'mark of the erasure that goes on, Unix epoch ms; null without one';
COMMENT ON COLUMN erasure_requests.tombstones IS 'number of the newest tombstone when the erasure began';
COMMENT ON COLUMN erasure_requests.emptied_at_ms IS 'when this erasure had emptied the tables, Unix epoch ms; null before';
COMMENT ON COLUMN erasure_requests.marks IS 'completed erasures: requested_at_ms, erased_up_to_ms';
COMMENT ON COLUMN erasure_requests.drained_at_ms IS 'when the tables were last emptied, Unix epoch ms';
COMMENT ON COLUMN erasure_requests.rows IS 'rows taken away, by table, over all erasures';
COMMENT ON COLUMN erasure_requests.unreadable IS 'number of the newest unreadable folder of its app when the audit store was last rewritten: the erasure is completed when none up to it is left';
COMMENT ON COLUMN erasure_requests.asked_ms IS 'requested_at_ms of the records that were taken, the latest ones: a record that comes again changes nothing';

CREATE TABLE erasure_runs (
  run bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  night date,
  asked_at_ms bigint NOT NULL,
  begun_at_ms bigint,
  ended_at_ms bigint,
  drained bigint NOT NULL DEFAULT 0,
  rows jsonb NOT NULL DEFAULT '{}'::jsonb,
  batches jsonb NOT NULL DEFAULT '[]'::jsonb,
  CONSTRAINT erasure_runs_night_key UNIQUE (night),
  CONSTRAINT erasure_runs_pkey PRIMARY KEY (run)
);
COMMENT ON TABLE erasure_runs IS 'runs of the eraser, one after the other; a run that was broken off goes on';
COMMENT ON COLUMN erasure_runs.night IS 'UTC date of a nightly run, null for one that somebody asked for';
COMMENT ON COLUMN erasure_runs.drained IS 'installs whose rows are gone';
COMMENT ON COLUMN erasure_runs.batches IS 'requests and rows of each batch, up to a limit';

CREATE TABLE fx_rates (
  currency text NOT NULL,
  day date NOT NULL,
  units_per_eur numeric NOT NULL,
  CONSTRAINT fx_rates_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
  CONSTRAINT fx_rates_pkey PRIMARY KEY (currency, day),
  CONSTRAINT fx_rates_units_per_eur_check CHECK ((units_per_eur > (0)::numeric))
);
COMMENT ON TABLE fx_rates IS 'reference rates as the ECB publishes them; a later load replaces a rate';
COMMENT ON COLUMN fx_rates.day IS 'UTC date of the rate; it holds until the next day that has one';
COMMENT ON COLUMN fx_rates.units_per_eur IS 'units of the currency for one EUR, exactly as loaded';

CREATE TABLE google_accounts (
  app_id text NOT NULL,
  key_id text NOT NULL,
  iv bytea NOT NULL,
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL,
  CONSTRAINT google_accounts_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT google_accounts_iv_check CHECK ((octet_length(iv) = 12)),
  CONSTRAINT google_accounts_pkey PRIMARY KEY (app_id),
  CONSTRAINT google_accounts_tag_check CHECK ((octet_length(tag) = 16))
);
COMMENT ON TABLE google_accounts IS 'service accounts of the Play Developer API: JSON of address, key id and private key';
COMMENT ON COLUMN google_accounts.key_id IS 'format and id of the master key that encrypted it, as in apps';

CREATE TABLE identities (
  issuer text NOT NULL,
  subject text NOT NULL,
  person_id text NOT NULL,
  linked_at timestamp with time zone NOT NULL,
  CONSTRAINT identities_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(person_id) ON DELETE CASCADE,
  CONSTRAINT identities_person_id_issuer_key UNIQUE (person_id, issuer),
  CONSTRAINT identities_pkey PRIMARY KEY (issuer, subject)
);
COMMENT ON TABLE identities IS 'whom an identity provider calls so: an email there is no proof, as it can change hands';

CREATE TABLE jobs (
  number bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  kind text NOT NULL,
  asked_at_ms bigint NOT NULL,
  begun_at_ms bigint,
  ended_at_ms bigint,
  outcome jsonb,
  asked jsonb,
  progress json,
  awaited_until timestamp with time zone,
  held_until timestamp with time zone,
  CONSTRAINT jobs_pkey PRIMARY KEY (number)
);
COMMENT ON TABLE jobs IS 'work that admin-api asks housekeeper for; rows that ended a day ago are removed';
COMMENT ON COLUMN jobs.kind IS 'what is to be done: settle, replay, dead_retry';
COMMENT ON COLUMN jobs.begun_at_ms IS 'when it was last begun: after a crash settle is begun once more, and others have broken off';
COMMENT ON COLUMN jobs.outcome IS 'what the work came to, once it has ended';
COMMENT ON COLUMN jobs.asked IS 'what exactly is to be done';
COMMENT ON COLUMN jobs.progress IS 'how far it has come, as whoever waits is told; json keeps the order of its fields';
COMMENT ON COLUMN jobs.awaited_until IS 'whoever asked counts as gone from then on, unless a later time is written';
COMMENT ON COLUMN jobs.held_until IS 'whoever works on it counts as gone from then on, unless a later time is written';

CREATE TABLE joined_claims (
  is_one boolean NOT NULL DEFAULT true,
  until_ms bigint NOT NULL,
  CONSTRAINT joined_claims_is_one_check CHECK (is_one),
  CONSTRAINT joined_claims_pkey PRIMARY KEY (is_one)
);
COMMENT ON COLUMN joined_claims.until_ms IS 'by the clock of ClickHouse, Unix epoch ms';

CREATE TABLE known_browsers (
  browser_hash bytea NOT NULL,
  person_id text NOT NULL,
  seen_at timestamp with time zone NOT NULL,
  CONSTRAINT known_browsers_browser_hash_check CHECK ((octet_length(browser_hash) = 32)),
  CONSTRAINT known_browsers_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(person_id) ON DELETE CASCADE,
  CONSTRAINT known_browsers_pkey PRIMARY KEY (browser_hash)
);
COMMENT ON TABLE known_browsers IS 'browsers in which a person has signed in: the guesses of others do not slow them';
COMMENT ON COLUMN known_browsers.browser_hash IS 'SHA-256 of the token in the cookie';

CREATE TABLE late_days (
  app_id text NOT NULL,
  day date NOT NULL,
  noted_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT late_days_pkey PRIMARY KEY (app_id, day)
);
COMMENT ON TABLE late_days IS 'UTC days under which audit objects of an app came, or are about to come, after retention may have blanked the day: it does so once more; names apps that may be gone';
COMMENT ON COLUMN late_days.noted_at IS 'when it was last noted, by the clock of PostgreSQL: a row goes when no such object can come any more';

CREATE TABLE link_secrets (
  app_id text NOT NULL,
  key_id text NOT NULL,
  iv bytea NOT NULL,
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL,
  CONSTRAINT link_secrets_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT link_secrets_iv_check CHECK ((octet_length(iv) = 12)),
  CONSTRAINT link_secrets_pkey PRIMARY KEY (app_id),
  CONSTRAINT link_secrets_tag_check CHECK ((octet_length(tag) = 16))
);
COMMENT ON TABLE link_secrets IS 'signs the click ids of an app; made by the first service that needs it, never replaced while it can be read';
COMMENT ON COLUMN link_secrets.key_id IS 'format and id of the master key that encrypted it, as in apps';

CREATE TABLE links (
  link_id text NOT NULL,
  app_id text NOT NULL,
  partner text NOT NULL,
  campaign text,
  ad_group text,
  creative text,
  fallback_url text,
  deep_link text,
  countries text[],
  lookback_hours integer,
  honeypot boolean NOT NULL,
  enabled boolean NOT NULL DEFAULT true,
  created_at timestamp with time zone NOT NULL,
  CONSTRAINT links_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT links_countries_check CHECK ((cardinality(countries) > 0)),
  CONSTRAINT links_link_id_check CHECK ((link_id ~ '^[A-Za-z0-9]{12}$'::text)),
  CONSTRAINT links_lookback_hours_check CHECK (((lookback_hours >= 1) AND (lookback_hours <= 720))),
  CONSTRAINT links_partner_check CHECK (((partner ~ '^[a-z0-9_-]{1,64}$'::text) AND (partner <> 'organic'::text))),
  CONSTRAINT links_pkey PRIMARY KEY (link_id)
);
COMMENT ON COLUMN links.link_id IS 'random: who knows one link can not guess another';
COMMENT ON COLUMN links.countries IS 'ISO 3166-1 alpha-2; null: all';
COMMENT ON COLUMN links.lookback_hours IS 'click window of this link; null: that of the app';

CREATE TABLE master_key_check (
  only_row boolean NOT NULL DEFAULT true,
  bound_to text NOT NULL,
  key_id text NOT NULL,
  iv bytea NOT NULL,
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL,
  CONSTRAINT master_key_check_only_row_check CHECK (only_row),
  CONSTRAINT master_key_check_pkey PRIMARY KEY (only_row)
);
COMMENT ON TABLE master_key_check IS 'one encrypted text; a process whose master key does not decrypt it refuses to start';
COMMENT ON COLUMN master_key_check.bound_to IS 'additional data of AES-256-GCM';
COMMENT ON COLUMN master_key_check.key_id IS 'format and id of the master key that encrypted it, as in apps';

CREATE TABLE memberships (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  person_id text NOT NULL,
  company_id text,
  role text NOT NULL,
  apps text[],
  created_at timestamp with time zone NOT NULL,
  by_claim boolean NOT NULL DEFAULT false,
  claimed_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT memberships_apps_check CHECK ((cardinality(apps) > 0)),
  CONSTRAINT memberships_check CHECK (((role = 'operator'::text) = (company_id IS NULL))),
  CONSTRAINT memberships_check1 CHECK (((apps IS NULL) OR (role <> ALL (ARRAY['owner'::text, 'operator'::text])))),
  CONSTRAINT memberships_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(company_id),
  CONSTRAINT memberships_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(person_id) ON DELETE CASCADE,
  CONSTRAINT memberships_pkey PRIMARY KEY (id),
  CONSTRAINT memberships_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'marketer'::text, 'privacy'::text, 'analyst'::text, 'operator'::text])))
);
COMMENT ON COLUMN memberships.company_id IS 'null for an operator';
COMMENT ON COLUMN memberships.apps IS 'apps of the company that the role is limited to; null: all of it';
COMMENT ON COLUMN memberships.by_claim IS 'true: the identity provider gave the role, and takes it away at a sign-in';
COMMENT ON COLUMN memberships.claimed_at IS 'the last sign-in with the claim that gave the role; says nothing of a role that people gave';

CREATE TABLE old_signing_secrets (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  app_id text NOT NULL,
  ends_at timestamp with time zone NOT NULL,
  key_id text NOT NULL,
  iv bytea NOT NULL,
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL,
  CONSTRAINT old_signing_secrets_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT old_signing_secrets_iv_check CHECK ((octet_length(iv) = 12)),
  CONSTRAINT old_signing_secrets_pkey PRIMARY KEY (id),
  CONSTRAINT old_signing_secrets_tag_check CHECK ((octet_length(tag) = 16))
);
COMMENT ON TABLE old_signing_secrets IS 'signing secrets that a rotation replaced and that are valid until ends_at; each change comes with one of apps, which tells the gateways';
COMMENT ON COLUMN old_signing_secrets.key_id IS 'format and id of the master key that encrypted it, as in apps';

CREATE TABLE one_time_links (
  link_hash bytea NOT NULL,
  kind text NOT NULL,
  email text,
  email_key text,
  role text,
  company_id text,
  apps text[],
  second_factor boolean NOT NULL DEFAULT false,
  invited_by text,
  created_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT one_time_links_check CHECK (((kind = 'first'::text) = (email_key IS NULL))),
  CONSTRAINT one_time_links_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(company_id),
  CONSTRAINT one_time_links_kind_check CHECK ((kind = ANY (ARRAY['invitation'::text, 'first'::text, 'reset'::text]))),
  CONSTRAINT one_time_links_link_hash_check CHECK ((octet_length(link_hash) = 32)),
  CONSTRAINT one_time_links_pkey PRIMARY KEY (link_hash)
);
COMMENT ON TABLE one_time_links IS 'invitations and resets that nobody used yet; a row goes when it is used';
COMMENT ON COLUMN one_time_links.link_hash IS 'SHA-256 of the secret in the link';
COMMENT ON COLUMN one_time_links.second_factor IS 'of a reset: it removes the second factor too';
COMMENT ON COLUMN one_time_links.invited_by IS 'the person who invited; their open invitations end with a role of theirs';

CREATE TABLE partner_postbacks (
  settings_id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  app_id text NOT NULL,
  partner text NOT NULL,
  valid_from_ms bigint NOT NULL,
  postback_url text,
  method text NOT NULL DEFAULT 'GET'::text,
  events text[] NOT NULL DEFAULT '{}'::text[],
  flagged text NOT NULL DEFAULT 'skip'::text,
  CONSTRAINT partner_postbacks_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT partner_postbacks_flagged_check CHECK ((flagged = ANY (ARRAY['skip'::text, 'send'::text]))),
  CONSTRAINT partner_postbacks_method_check CHECK ((method = ANY (ARRAY['GET'::text, 'POST'::text]))),
  CONSTRAINT partner_postbacks_partner_check CHECK (((partner ~ '^[a-z0-9_-]{1,64}$'::text) AND (partner <> 'organic'::text))),
  CONSTRAINT partner_postbacks_pkey PRIMARY KEY (settings_id)
);
COMMENT ON TABLE partner_postbacks IS 'versions of the settings of partners; rows are kept';
COMMENT ON COLUMN partner_postbacks.valid_from_ms IS 'Unix epoch ms: it acts on what is decided from then on';
COMMENT ON COLUMN partner_postbacks.postback_url IS 'template; null: the partner was removed';

CREATE TABLE partner_secrets (
  settings_id bigint NOT NULL,
  app_id text NOT NULL,
  key_id text NOT NULL,
  iv bytea NOT NULL,
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL,
  CONSTRAINT partner_secrets_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT partner_secrets_iv_check CHECK ((octet_length(iv) = 12)),
  CONSTRAINT partner_secrets_pkey PRIMARY KEY (settings_id),
  CONSTRAINT partner_secrets_settings_id_fkey FOREIGN KEY (settings_id) REFERENCES partner_postbacks(settings_id),
  CONSTRAINT partner_secrets_tag_check CHECK ((octet_length(tag) = 16))
);
COMMENT ON TABLE partner_secrets IS 'signs the postbacks of a version of settings';
COMMENT ON COLUMN partner_secrets.key_id IS 'format and id of the master key that encrypted it, as in apps';

CREATE TABLE people (
  person_id text NOT NULL,
  email text NOT NULL,
  email_key text NOT NULL,
  password text,
  created_at timestamp with time zone NOT NULL,
  CONSTRAINT people_email_key_key UNIQUE (email_key),
  CONSTRAINT people_pkey PRIMARY KEY (person_id)
);
COMMENT ON COLUMN people.email IS 'as it was invited';
COMMENT ON COLUMN people.email_key IS 'the same in lower case: two spellings are one account';
COMMENT ON COLUMN people.password IS 'argon2id in the PHC string format; null for a person who signs in by the identity provider alone';

CREATE TABLE raw_clock (
  only_row boolean NOT NULL DEFAULT true,
  sealed_ms bigint NOT NULL DEFAULT 0,
  epoch uuid NOT NULL DEFAULT gen_random_uuid(),
  CONSTRAINT raw_clock_only_row_check CHECK (only_row),
  CONSTRAINT raw_clock_pkey PRIMARY KEY (only_row)
);
COMMENT ON TABLE raw_clock IS 'one row: up to when readers of raw rows were promised that nothing comes';
COMMENT ON COLUMN raw_clock.sealed_ms IS 'Unix epoch ms; a stamp that is given later is greater';
COMMENT ON COLUMN raw_clock.epoch IS 'a new one when tables lost rows that readers may have: they read all again';

CREATE TABLE raw_erasures (
  app_id text NOT NULL,
  stored_at_ms bigint NOT NULL,
  install_uuid text NOT NULL,
  click_id text NOT NULL,
  erased_up_to_ms bigint NOT NULL,
  CONSTRAINT raw_erasures_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id)
);
COMMENT ON TABLE raw_erasures IS 'what was erased in the last 62 days, so that copies of raw rows can follow';
COMMENT ON COLUMN raw_erasures.stored_at_ms IS 'when its rows were gone, Unix epoch ms: a stamp as those of raw_stamps';
COMMENT ON COLUMN raw_erasures.install_uuid IS 'empty for a click';
COMMENT ON COLUMN raw_erasures.click_id IS 'empty for an install';
COMMENT ON COLUMN raw_erasures.erased_up_to_ms IS 'what was received or is dated up to then is erased, Unix epoch ms';

CREATE TABLE raw_stamps (
  consumer text NOT NULL,
  topic text NOT NULL,
  partition integer NOT NULL,
  newest_ms bigint NOT NULL,
  open_ms bigint[] NOT NULL,
  CONSTRAINT raw_stamps_partition_check CHECK ((partition >= 0)),
  CONSTRAINT raw_stamps_pkey PRIMARY KEY (consumer, topic, partition)
);
COMMENT ON TABLE raw_stamps IS 'times at which rows of batches count as stored, by partition';
COMMENT ON COLUMN raw_stamps.newest_ms IS 'the greatest that was given, Unix epoch ms';
COMMENT ON COLUMN raw_stamps.open_ms IS 'those of batches that are not known to be over: what is complete ends before the least of them';

CREATE TABLE reconcile_differences (
  app_id text NOT NULL,
  hour_ms bigint NOT NULL,
  store text NOT NULL,
  is_surplus boolean NOT NULL,
  expected double precision NOT NULL,
  found double precision NOT NULL,
  examples jsonb NOT NULL,
  found_at_ms bigint NOT NULL,
  looked_at_ms bigint NOT NULL,
  CONSTRAINT reconcile_differences_pkey PRIMARY KEY (app_id, hour_ms, store, is_surplus)
);
COMMENT ON TABLE reconcile_differences IS 'where stores differ (docs/operations.md "Reconcile"); gone when a later look finds it no more';
COMMENT ON COLUMN reconcile_differences.app_id IS 'empty for postbacks, which name no app';
COMMENT ON COLUMN reconcile_differences.hour_ms IS 'begin of the hour of receipt, or of the day of a figure, Unix epoch milliseconds';
COMMENT ON COLUMN reconcile_differences.store IS 'table, topic or audit';
COMMENT ON COLUMN reconcile_differences.is_surplus IS 'more is there than should be';
COMMENT ON COLUMN reconcile_differences.examples IS 'texts that say where';
COMMENT ON COLUMN reconcile_differences.found_at_ms IS 'when it was found first, Unix epoch milliseconds';
COMMENT ON COLUMN reconcile_differences.looked_at_ms IS 'when it was looked at last, Unix epoch milliseconds';

CREATE TABLE reconciled_hours (
  app_id text NOT NULL,
  hour_ms bigint NOT NULL,
  objects integer NOT NULL,
  events bigint NOT NULL,
  CONSTRAINT reconciled_hours_pkey PRIMARY KEY (app_id, hour_ms)
);
COMMENT ON TABLE reconciled_hours IS 'hours of receipt that were compared, of the last days; the rows of an empty app: of all apps';
COMMENT ON COLUMN reconciled_hours.hour_ms IS 'its begin, Unix epoch milliseconds';
COMMENT ON COLUMN reconciled_hours.objects IS 'audit objects of SDK requests of the hour: with another number it is compared again';
COMMENT ON COLUMN reconciled_hours.events IS 'events that tables had of its day of receipt: with fewer the day is compared again';

CREATE TABLE recovery_codes (
  code_hash bytea NOT NULL,
  person_id text NOT NULL,
  CONSTRAINT recovery_codes_code_hash_check CHECK ((octet_length(code_hash) = 32)),
  CONSTRAINT recovery_codes_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(person_id) ON DELETE CASCADE,
  CONSTRAINT recovery_codes_pkey PRIMARY KEY (code_hash)
);
COMMENT ON COLUMN recovery_codes.code_hash IS 'SHA-256 of person and code: 120 random bits need no salt';

CREATE TABLE redecisions (
  app_id text NOT NULL,
  install_uuid text NOT NULL,
  partition integer NOT NULL,
  reason_number bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
  added_at timestamp with time zone NOT NULL DEFAULT now(),
  slice text,
  CONSTRAINT redecisions_partition_check CHECK ((partition >= 0)),
  CONSTRAINT redecisions_pkey PRIMARY KEY (app_id, install_uuid)
);
COMMENT ON TABLE redecisions IS 'installs whose attribution is to be decided again, once however many reasons there are; install-attributor removes a row when the decision is durable';
COMMENT ON COLUMN redecisions.partition IS 'of installs.found.v1: the partition that holds all facts of the app';
COMMENT ON COLUMN redecisions.reason_number IS 'each reason sets a number that was never used; a row goes only with the number that was read before the evidence';
COMMENT ON COLUMN redecisions.added_at IS 'when the install began to wait: rows of an app are taken in this order';
COMMENT ON COLUMN redecisions.slice IS 'the try of a batch that decides the install now; each later try takes the same rows again, until one has ended';

CREATE TABLE retention_runs (
  day date NOT NULL,
  ended_at timestamp with time zone NOT NULL,
  done jsonb NOT NULL,
  CONSTRAINT retention_runs_pkey PRIMARY KEY (day)
);
COMMENT ON TABLE retention_runs IS 'nightly runs of retention that ended well, by the UTC day up to which they acted';
COMMENT ON COLUMN retention_runs.done IS 'what the run removed: rows by table, and audit objects';

CREATE TABLE saved_views (
  app_id text NOT NULL,
  name text NOT NULL,
  address text NOT NULL,
  person_id text,
  saved_at timestamp with time zone NOT NULL,
  CONSTRAINT saved_views_address_check CHECK (((char_length(address) >= 1) AND (char_length(address) <= 2000))),
  CONSTRAINT saved_views_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT saved_views_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 60))),
  CONSTRAINT saved_views_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(person_id) ON DELETE SET NULL,
  CONSTRAINT saved_views_pkey PRIMARY KEY (app_id, name)
);
COMMENT ON TABLE saved_views IS 'addresses of the panel by name';
COMMENT ON COLUMN saved_views.address IS 'path and query below /admin';
COMMENT ON COLUMN saved_views.person_id IS 'who saved it; null: the admin token, or a person who is removed';

CREATE TABLE schema_migrations (
  version integer NOT NULL,
  file text NOT NULL,
  checksum text NOT NULL,
  applied_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT schema_migrations_pkey PRIMARY KEY (version)
);

CREATE TABLE server_keys (
  key_id text NOT NULL,
  app_id text NOT NULL,
  key_sha256 bytea NOT NULL,
  key_first4 text NOT NULL,
  key_last4 text NOT NULL,
  label text NOT NULL,
  allowed_events text[] NOT NULL,
  created_at timestamp with time zone NOT NULL,
  revoked_at timestamp with time zone,
  scopes text[] NOT NULL DEFAULT ARRAY['events:write'::text, 'reports:read'::text],
  CONSTRAINT server_keys_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT server_keys_key_sha256_check CHECK ((octet_length(key_sha256) = 32)),
  CONSTRAINT server_keys_key_sha256_key UNIQUE (key_sha256),
  CONSTRAINT server_keys_pkey PRIMARY KEY (key_id),
  CONSTRAINT server_keys_scopes_check CHECK (((cardinality(scopes) > 0) AND (scopes <@ ARRAY['events:write'::text, 'reports:read'::text, 'costs:write'::text, 'attribution:write'::text, 'raw:read'::text])))
);
COMMENT ON COLUMN server_keys.key_sha256 IS 'SHA-256 of the whole key text; the key itself is stored nowhere';
COMMENT ON COLUMN server_keys.key_first4 IS 'first 4 characters after srv_, for display';
COMMENT ON COLUMN server_keys.allowed_events IS 'empty: all events';
COMMENT ON COLUMN server_keys.scopes IS 'what the key may do';

CREATE TABLE sessions (
  session_hash bytea NOT NULL,
  session_id text NOT NULL,
  person_id text NOT NULL,
  complete boolean NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  began_at timestamp with time zone NOT NULL,
  seen_at timestamp with time zone NOT NULL,
  proven_at timestamp with time zone NOT NULL,
  ip text NOT NULL,
  agent text NOT NULL,
  proven_by text NOT NULL DEFAULT 'password'::text,
  CONSTRAINT sessions_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(person_id) ON DELETE CASCADE,
  CONSTRAINT sessions_pkey PRIMARY KEY (session_hash),
  CONSTRAINT sessions_proven_by_check CHECK ((proven_by = ANY (ARRAY['password'::text, 'oidc'::text]))),
  CONSTRAINT sessions_session_hash_check CHECK ((octet_length(session_hash) = 32)),
  CONSTRAINT sessions_session_id_key UNIQUE (session_id)
);
COMMENT ON COLUMN sessions.session_hash IS 'SHA-256 of the token in the cookie';
COMMENT ON COLUMN sessions.complete IS 'false: it waits for the second factor';
COMMENT ON COLUMN sessions.attempts IS 'wrong codes of the second factor';
COMMENT ON COLUMN sessions.seen_at IS 'its last request, to the minute';
COMMENT ON COLUMN sessions.proven_at IS 'when the person was last proven';
COMMENT ON COLUMN sessions.proven_by IS 'the proof of that time';

CREATE TABLE store_answers (
  app_id text NOT NULL,
  question text NOT NULL,
  answer text NOT NULL,
  until_ms bigint NOT NULL,
  CONSTRAINT store_answers_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT store_answers_pkey PRIMARY KEY (app_id, question)
);
COMMENT ON TABLE store_answers IS 'answers of the stores: purchases of a day, negatives of an hour';
COMMENT ON COLUMN store_answers.question IS 'SHA-256 of what was asked';
COMMENT ON COLUMN store_answers.until_ms IS 'Unix epoch ms: then the store is asked again';

CREATE TABLE store_purchases (
  app_id text NOT NULL,
  original_hash bytea NOT NULL,
  install_uuid text,
  dated_at_ms bigint NOT NULL,
  CONSTRAINT store_purchases_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT store_purchases_original_hash_check CHECK ((octet_length(original_hash) = 32)),
  CONSTRAINT store_purchases_pkey PRIMARY KEY (app_id, original_hash)
);
COMMENT ON TABLE store_purchases IS 'purchases that a store confirmed, each with the first install whose receipt named it';
COMMENT ON COLUMN store_purchases.original_hash IS 'SHA-256 of what all transactions of the purchase have in common';
COMMENT ON COLUMN store_purchases.install_uuid IS 'null: it was erased, and what the store says later is dropped';
COMMENT ON COLUMN store_purchases.dated_at_ms IS 'the earlier of receipt and date of the event with the receipt, Unix epoch ms: an erasure takes what is dated up to its mark';

CREATE TABLE tombstones (
  number bigint NOT NULL,
  app_id text NOT NULL,
  kind text NOT NULL,
  hash bytea NOT NULL,
  mark_ms bigint NOT NULL,
  log text,
  log_end bigint,
  CONSTRAINT tombstones_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT tombstones_hash_check CHECK ((octet_length(hash) = 16)),
  CONSTRAINT tombstones_kind_check CHECK ((kind = ANY (ARRAY['install'::text, 'click'::text]))),
  CONSTRAINT tombstones_log_check CHECK (((log IS NULL) = (log_end IS NULL))),
  CONSTRAINT tombstones_mark_ms_check CHECK ((mark_ms > 0)),
  CONSTRAINT tombstones_number_check CHECK ((number > 0)),
  CONSTRAINT tombstones_pkey PRIMARY KEY (number)
);
COMMENT ON TABLE tombstones IS 'installs and clicks that were erased; rows are kept for ever, and a later request adds a later row';
COMMENT ON COLUMN tombstones.number IS 'in the order of their transactions, no smaller than the microseconds of the Unix epoch then: no number is used twice, also not after PostgreSQL was put back';
COMMENT ON COLUMN tombstones.hash IS 'first 16 bytes of HMAC-SHA-256 with the salt of the company over erased-<kind>/<app_id>/<id>';
COMMENT ON COLUMN tombstones.mark_ms IS 'Unix epoch ms: what was received or is dated up to then is erased';
COMMENT ON COLUMN tombstones.log IS 'name of the log of accepted events of the install, as event-writer knows it; null of clicks, and where event-writer had committed nothing';
COMMENT ON COLUMN tombstones.log_end IS 'its end before the audit store was read for the mark: what the log holds below it is erased';

CREATE TABLE totp_offers (
  person_id text NOT NULL,
  key_id text NOT NULL,
  iv bytea NOT NULL,
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL,
  last_step bigint NOT NULL,
  CONSTRAINT totp_offers_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(person_id) ON DELETE CASCADE,
  CONSTRAINT totp_offers_pkey PRIMARY KEY (person_id),
  CONSTRAINT totp_secrets_iv_check CHECK ((octet_length(iv) = 12)),
  CONSTRAINT totp_secrets_tag_check CHECK ((octet_length(tag) = 16))
);
COMMENT ON TABLE totp_offers IS 'secrets that no code has confirmed yet';

CREATE TABLE totp_secrets (
  person_id text NOT NULL,
  key_id text NOT NULL,
  iv bytea NOT NULL,
  ciphertext bytea NOT NULL,
  tag bytea NOT NULL,
  last_step bigint NOT NULL,
  CONSTRAINT totp_secrets_iv_check CHECK ((octet_length(iv) = 12)),
  CONSTRAINT totp_secrets_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(person_id) ON DELETE CASCADE,
  CONSTRAINT totp_secrets_pkey PRIMARY KEY (person_id),
  CONSTRAINT totp_secrets_tag_check CHECK ((octet_length(tag) = 16))
);
COMMENT ON COLUMN totp_secrets.key_id IS 'format and id of the master key that encrypted it, as in apps; additional data: purpose and person_id';
COMMENT ON COLUMN totp_secrets.last_step IS 'the newest time step of a code that was used: no code counts twice';

CREATE TABLE unreadable_objects (
  number bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  app_id text NOT NULL,
  folder text NOT NULL,
  objects bigint NOT NULL,
  CONSTRAINT unreadable_objects_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT unreadable_objects_app_id_folder_key UNIQUE (app_id, folder),
  CONSTRAINT unreadable_objects_objects_check CHECK ((objects > 0)),
  CONSTRAINT unreadable_objects_pkey PRIMARY KEY (number)
);
COMMENT ON TABLE unreadable_objects IS 'folders of the audit store with objects that an erasure could not read or rewrite; each run tries again, and removes the row when it could';
COMMENT ON COLUMN unreadable_objects.app_id IS 'app whose erasures they hold up; archives of clicks are of several apps';
COMMENT ON COLUMN unreadable_objects.objects IS 'how many there were at the last try';

CREATE TABLE upgrade_jobs (
  name text NOT NULL,
  begun_at_ms bigint NOT NULL,
  ended_at_ms bigint,
  CONSTRAINT upgrade_jobs_pkey PRIMARY KEY (name)
);
COMMENT ON COLUMN upgrade_jobs.begun_at_ms IS 'Unix epoch milliseconds';
COMMENT ON COLUMN upgrade_jobs.ended_at_ms IS 'null while something may be left to do; it never begins again';

CREATE TABLE verdict_stamps (
  app_id text NOT NULL,
  newest_ms bigint NOT NULL,
  open_ms bigint,
  CONSTRAINT verdict_stamps_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT verdict_stamps_pkey PRIMARY KEY (app_id)
);
COMMENT ON TABLE verdict_stamps IS 'times at which verdicts of receipts count as stored, by app';
COMMENT ON COLUMN verdict_stamps.newest_ms IS 'the greatest that was given, Unix epoch ms';
COMMENT ON COLUMN verdict_stamps.open_ms IS 'that of verdicts which are being written; null: none are';

CREATE TABLE waiting_notifications (
  app_id text NOT NULL,
  notification_id text NOT NULL,
  original_hash bytea NOT NULL,
  notified text NOT NULL,
  until_ms bigint NOT NULL,
  CONSTRAINT waiting_notifications_app_id_fkey FOREIGN KEY (app_id) REFERENCES apps(app_id),
  CONSTRAINT waiting_notifications_original_hash_check CHECK ((octet_length(original_hash) = 32)),
  CONSTRAINT waiting_notifications_pkey PRIMARY KEY (app_id, notification_id)
);
COMMENT ON TABLE waiting_notifications IS 'notifications of the stores without a known install, of 30 days';
COMMENT ON COLUMN waiting_notifications.notified IS 'JSON of the event that it becomes, and of its audit object';

CREATE SEQUENCE cost_numbers;
COMMENT ON SEQUENCE cost_numbers IS 'numbers of uploads of costs, which costs_v1 of ClickHouse holds';

CREATE INDEX admin_audit_log_at ON public.admin_audit_log USING btree (at);
CREATE INDEX admin_audit_log_company ON public.admin_audit_log USING btree (company_id, id);
CREATE INDEX apps_company ON public.apps USING btree (company_id);
CREATE UNIQUE INDEX apps_owned_store_id ON public.apps USING btree (ltrim(store_id, '0'::text)) WHERE ((platform = 'ios'::text) AND owns_store_id AND (ltrim(store_id, '0'::text) <> ''::text));
CREATE INDEX attribution_settings_app ON public.attribution_settings USING btree (app_id, valid_from, id);
CREATE INDEX day_notes_of_app ON public.day_notes USING btree (app_id, day);
CREATE INDEX day_notes_of_person ON public.day_notes USING btree (person_id);
CREATE INDEX due_postbacks_dead ON public.due_postbacks USING btree (app_id, partner, ended_at_ms) WHERE (state = 'dead'::text);
CREATE INDEX due_postbacks_due ON public.due_postbacks USING btree (app_id, partner, next_try_ms) WHERE (state = 'due'::text);
CREATE UNIQUE INDEX due_postbacks_events ON public.due_postbacks USING btree (app_id, install_uuid, event_key) WHERE (event_key <> 'install'::text);
CREATE INDEX due_postbacks_old ON public.due_postbacks USING btree (owed_at_ms);
CREATE INDEX due_receipts_by_age ON public.due_receipts USING btree (app_id, tried_from_ms) WHERE (tries > 0);
CREATE INDEX due_receipts_of_install ON public.due_receipts USING btree (app_id, install_uuid);
CREATE INDEX due_receipts_open ON public.due_receipts USING btree (app_id, next_try_ms) WHERE ((tries = 0) OR (lease IS NOT NULL) OR (asks IS NULL));
CREATE INDEX due_receipts_waiting ON public.due_receipts USING btree (app_id, asks, next_try_ms) WHERE ((tries > 0) AND (lease IS NULL) AND (asks IS NOT NULL));
CREATE INDEX erasure_requests_open ON public.erasure_requests USING btree (app_id, asked_by, requested_at_ms) WHERE (install_uuid IS NOT NULL);
CREATE INDEX erasure_runs_open ON public.erasure_runs USING btree (run) WHERE (ended_at_ms IS NULL);
CREATE UNIQUE INDEX jobs_one_awaited ON public.jobs USING btree (kind) WHERE ((ended_at_ms IS NULL) AND (kind = ANY (ARRAY['replay'::text, 'dead_retry'::text])));
CREATE UNIQUE INDEX jobs_one_reconcile ON public.jobs USING btree (kind) WHERE ((ended_at_ms IS NULL) AND (kind = 'reconcile'::text));
CREATE INDEX jobs_open ON public.jobs USING btree (kind, number) WHERE (ended_at_ms IS NULL);
CREATE INDEX known_browsers_person ON public.known_browsers USING btree (person_id, seen_at);
CREATE INDEX links_app ON public.links USING btree (app_id, created_at);
CREATE INDEX memberships_company ON public.memberships USING btree (company_id);
CREATE UNIQUE INDEX memberships_once ON public.memberships USING btree (person_id, COALESCE(company_id, ''::text));
CREATE INDEX old_signing_secrets_app ON public.old_signing_secrets USING btree (app_id, ends_at);
CREATE INDEX one_time_links_email ON public.one_time_links USING btree (email_key);
CREATE INDEX partner_postbacks_in_order ON public.partner_postbacks USING btree (app_id, partner, valid_from_ms, settings_id);
CREATE INDEX raw_erasures_by_age ON public.raw_erasures USING btree (stored_at_ms);
CREATE INDEX raw_erasures_in_order ON public.raw_erasures USING btree (app_id, stored_at_ms);
CREATE INDEX recovery_codes_person ON public.recovery_codes USING btree (person_id);
CREATE INDEX redecisions_in_turn ON public.redecisions USING btree (partition, app_id, added_at, install_uuid);
CREATE INDEX redecisions_taken ON public.redecisions USING btree (partition) WHERE (slice IS NOT NULL);
CREATE INDEX saved_views_of_person ON public.saved_views USING btree (person_id);
CREATE INDEX server_keys_app ON public.server_keys USING btree (app_id, created_at);
CREATE INDEX sessions_person ON public.sessions USING btree (person_id);
CREATE INDEX sessions_seen ON public.sessions USING btree (seen_at);
CREATE INDEX store_answers_old ON public.store_answers USING btree (until_ms);
CREATE INDEX store_purchases_of_install ON public.store_purchases USING btree (app_id, install_uuid);
CREATE INDEX waiting_notifications_of_purchase ON public.waiting_notifications USING btree (app_id, original_hash);
CREATE INDEX waiting_notifications_old ON public.waiting_notifications USING btree (until_ms);
CREATE OR REPLACE FUNCTION public.audit_company(thing text)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
  SELECT coalesce(
    (SELECT company_id FROM companies WHERE company_id = thing),
    (SELECT company_id FROM apps WHERE app_id = thing),
    (SELECT a.company_id FROM server_keys k JOIN apps a USING (app_id) WHERE k.key_id = thing),
    (SELECT a.company_id FROM links l JOIN apps a USING (app_id) WHERE l.link_id = thing))
$function$;

CREATE OR REPLACE FUNCTION public.notify_attribution_changed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('attribution_changed', (SELECT company_id FROM apps WHERE app_id = coalesce(NEW.app_id, OLD.app_id)));
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.notify_credentials_changed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  changed record := coalesce(NEW, OLD);
BEGIN
  IF TG_TABLE_NAME = 'server_keys' THEN
    PERFORM pg_notify('credentials_changed', (SELECT company_id FROM apps WHERE app_id = changed.app_id));
  ELSE
    PERFORM pg_notify('credentials_changed', changed.company_id);
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.notify_cv_schemas_changed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('cv_schemas_changed', (SELECT company_id FROM apps WHERE app_id = NEW.app_id));
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.notify_people_changed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('people_changed', coalesce(NEW.person_id, OLD.person_id));
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION '% of % is refused: its rows are kept for ever', TG_OP, TG_TABLE_NAME;
END $function$;

CREATE OR REPLACE FUNCTION public.refuse_early_delete()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF OLD.at >= now() - interval '2 years' THEN
    RAISE EXCEPTION 'DELETE of % is refused: its rows are kept for two years', TG_TABLE_NAME;
  END IF;
  RETURN OLD;
END $function$;

CREATE TRIGGER admin_audit_log_is_kept BEFORE UPDATE OR TRUNCATE ON public.admin_audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER admin_audit_log_is_kept_for_years BEFORE DELETE ON public.admin_audit_log FOR EACH ROW EXECUTE FUNCTION refuse_early_delete();
CREATE TRIGGER apps_changed AFTER INSERT OR DELETE OR UPDATE ON public.apps FOR EACH ROW EXECUTE FUNCTION notify_credentials_changed();
CREATE TRIGGER attribution_settings_are_kept BEFORE DELETE OR UPDATE OR TRUNCATE ON public.attribution_settings FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER attribution_settings_changed AFTER INSERT ON public.attribution_settings FOR EACH ROW EXECUTE FUNCTION notify_attribution_changed();
CREATE TRIGGER companies_changed AFTER INSERT OR DELETE OR UPDATE ON public.companies FOR EACH ROW EXECUTE FUNCTION notify_credentials_changed();
CREATE TRIGGER cv_schemas_are_kept BEFORE DELETE OR UPDATE OR TRUNCATE ON public.cv_schemas FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER cv_schemas_changed AFTER INSERT ON public.cv_schemas FOR EACH ROW EXECUTE FUNCTION notify_cv_schemas_changed();
CREATE TRIGGER links_changed AFTER INSERT OR DELETE OR UPDATE ON public.links FOR EACH ROW EXECUTE FUNCTION notify_attribution_changed();
CREATE TRIGGER memberships_changed AFTER INSERT OR DELETE OR UPDATE ON public.memberships FOR EACH ROW EXECUTE FUNCTION notify_people_changed();
CREATE TRIGGER partner_postbacks_are_kept BEFORE DELETE OR UPDATE OR TRUNCATE ON public.partner_postbacks FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER server_keys_changed AFTER INSERT OR DELETE OR UPDATE ON public.server_keys FOR EACH ROW EXECUTE FUNCTION notify_credentials_changed();
CREATE TRIGGER sessions_changed AFTER DELETE OR UPDATE OF complete, proven_at ON public.sessions FOR EACH ROW EXECUTE FUNCTION notify_people_changed();
CREATE TRIGGER tombstones_are_kept BEFORE DELETE OR UPDATE OR TRUNCATE ON public.tombstones FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
