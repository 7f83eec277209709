import { limits } from '@tributary/contracts/limits'
import type { z } from 'zod'
import {
  address,
  addresses,
  brokers,
  choice,
  flag,
  hostNames,
  type Kind,
  keySetAddress,
  mailAddresses,
  masterKey,
  networks,
  optional,
  parts,
  publicKey,
  ratio,
  requestHeaders,
  rolePasswords,
  shownAddress,
  text,
  token,
  whole,
  word,
} from './setting-kinds.ts'

export interface Setting<T> extends Kind<T> {
  meaning: string
  /** Text of the default as in the environment; null: there is none. */
  default_text: string | null
  /** `whole`: never shown; `password`: an address, shown without the password in it. */
  secret?: 'whole' | 'password'
}

const setting = <T>({ kind, ...rest }: Omit<Setting<T>, keyof Kind<T>> & { kind: Kind<T> }): Setting<T> => ({
  ...rest,
  ...kind,
})

/** Every setting of the product; `tributary config` prints this list (docs/rules.md#settings). */
export const settings = {
  TRIBUTARY_PORT: setting({
    meaning: 'port to listen on; 0 chooses a free one',
    kind: whole(0, 65_535),
    default_text: '8080',
  }),
  TRIBUTARY_HOST: setting({ meaning: 'address to listen on', kind: text, default_text: '127.0.0.1' }),
  TRIBUTARY_URL: setting({
    meaning:
      'address of the service for the tributary command (distributed: admin-api); default: the last npm start in its directory',
    kind: address('http', 'https'),
    default_text: 'http://127.0.0.1:8080',
  }),
  TRIBUTARY_LINK_URL: setting({
    meaning:
      'base of the tracking links that are made, such as https://go.example.com; default: in standalone the address at which the admin API was reached; a fleet makes no link without it',
    kind: optional(address('http', 'https')),
    default_text: null,
  }),
  TRIBUTARY_DATA_DIR: setting({
    meaning: 'folder of the embedded engines, keys and audit objects',
    kind: text,
    default_text: './.tributary',
  }),
  TRIBUTARY_GEO_DIR: setting({
    meaning: 'folder of newer tables of addresses (tributary geo update); standalone: geo in its data folder',
    kind: optional(text),
    default_text: null,
  }),
  TRIBUTARY_DISK_FREE_MIN_BYTES: setting({
    meaning: 'free space of a disk below which a process warns; it also warns below a tenth of the disk',
    kind: whole(0, 2 ** 50),
    default_text: '2147483648',
  }),
  TRIBUTARY_ADMIN_TOKEN: setting({
    meaning: 'bearer token of the admin API; standalone makes one in the data folder',
    kind: optional(token),
    default_text: null,
    secret: 'whole',
  }),
  TRIBUTARY_ADMIN_NETWORKS: setting({
    meaning: 'standalone: clients that may reach /admin and /metrics',
    kind: networks,
    default_text: '127.0.0.0/8,::1',
  }),
  TRIBUTARY_ADMIN_HOSTS: setting({
    meaning: 'standalone: further host names, by comma, for /admin and /metrics (tributary.example.com)',
    kind: hostNames,
    default_text: '',
  }),
  TRIBUTARY_ADMIN_URL: setting({
    meaning:
      'address at which browsers reach the panel, such as https://panel.example.com: invitations name it, sessions are bound to it; default: the address of a request',
    kind: optional(address('http', 'https')),
    default_text: null,
  }),
  TRIBUTARY_PUBLIC_URL: setting({
    meaning:
      'address at which SDKs and backends reach this installation, such as https://events.example.com: commands that the panel shows name it, and the tokens with which Google pushes notifications; default: the address of the panel, or of a push',
    kind: optional(shownAddress),
    default_text: null,
  }),
  TRIBUTARY_OIDC_ISSUER: setting({
    meaning: 'issuer of the identity provider by which people sign in too (OpenID Connect); default: by password alone',
    kind: optional(keySetAddress),
    default_text: null,
  }),
  TRIBUTARY_OIDC_CLIENT_ID: setting({
    meaning: 'id of this installation at the identity provider',
    kind: optional(text),
    default_text: null,
  }),
  TRIBUTARY_OIDC_CLIENT_SECRET: setting({
    meaning: 'its secret there; without it PKCE alone protects a sign-in',
    kind: optional(text),
    default_text: null,
    secret: 'whole',
  }),
  TRIBUTARY_OIDC_ROLE_CLAIM: setting({
    meaning:
      'claim that lists roles, as in operator and co_1:analyst (docs/people.md#roles-from-the-identity-provider)',
    kind: optional(text),
    default_text: null,
  }),
  TRIBUTARY_OIDC_ALLOWED_DOMAINS: setting({
    meaning: 'domains of email, by comma, that may sign in by the identity provider; default: any',
    kind: hostNames,
    default_text: '',
  }),
  TRIBUTARY_PASSWORD_SIGN_IN: setting({
    meaning: 'off: people sign in by the identity provider alone',
    kind: choice('on', 'off'),
    default_text: 'on',
  }),
  TRIBUTARY_SMTP_URL: setting({
    meaning:
      'smtp://user:password@host:587 or smtps://...: invitations and resets are mailed and not shown; smtp needs STARTTLS, unless the host is this machine or ?requireTLS=false follows',
    kind: optional(address('smtp', 'smtps')),
    default_text: null,
    secret: 'password',
  }),
  TRIBUTARY_SMTP_FROM: setting({
    meaning: 'sender of these mails, as in Tributary <tributary@example.com>',
    kind: optional(text),
    default_text: null,
  }),
  TRIBUTARY_RECONCILE_CORE_PERCENT: setting({
    meaning:
      'percent of a core that the reconciler may use: 2 for each 1,000 events/s; 0 leaves comparing to npx tributary reconcile',
    kind: whole(0, 100),
    default_text: '2',
  }),
  TRIBUTARY_ATTENTION_MAIL: setting({
    meaning: 'addresses that get a daily mail while something needs attention (docs/people.md#the-daily-notice)',
    kind: mailAddresses,
    default_text: '',
  }),
  TRIBUTARY_ATTENTION_WEBHOOK: setting({
    meaning: 'address that gets the same as a POST of JSON',
    kind: optional(keySetAddress),
    default_text: null,
    secret: 'whole',
  }),
  TRIBUTARY_POSTBACK_ALLOWED_NETWORKS: setting({
    meaning:
      'addresses and CIDR ranges that partner postbacks may reach though they are not of the internet, by plain http and at any port too',
    kind: networks,
    default_text: '',
  }),
  TRIBUTARY_APPLE_ROOTS_FILE: setting({
    meaning:
      'PEM file of the root certificates that receipts and notifications of Apple need, instead of the pinned ones',
    kind: optional(text),
    default_text: null,
  }),
  TRIBUTARY_APPLE_API_URL: setting({
    meaning: "address of the App Store Server API instead of Apple's own; https, or http on this machine",
    kind: optional(keySetAddress),
    default_text: null,
  }),
  TRIBUTARY_GOOGLE_API_URL: setting({
    meaning: "address of the Play Developer API instead of Google's own; https, or http on this machine",
    kind: optional(keySetAddress),
    default_text: null,
  }),
  TRIBUTARY_GOOGLE_TOKEN_URL: setting({
    meaning: "address that gives service accounts their tokens instead of Google's own; https, or http on this machine",
    kind: optional(keySetAddress),
    default_text: null,
  }),
  TRIBUTARY_GOOGLE_CERTS_URL: setting({
    meaning:
      "JWK set that proves the notifications that Google pushes, instead of Google's own; https, or http on this machine",
    kind: optional(keySetAddress),
    default_text: null,
  }),
  TRIBUTARY_SERVER_KEY: setting({
    meaning: 'server key of the tributary command when --key is absent',
    kind: optional(text),
    default_text: null,
    secret: 'whole',
  }),
  TRIBUTARY_SIGNING_SECRET: setting({
    meaning: 'signing secret of `tributary send` when --secret is absent',
    kind: optional(text),
    default_text: null,
    secret: 'whole',
  }),
  TRIBUTARY_MASTER_KEY: setting({
    meaning: '32 bytes in base64 that encrypt signing secrets; standalone makes them in the data folder',
    kind: optional(masterKey),
    default_text: null,
    secret: 'whole',
  }),
  TRIBUTARY_MASTER_KEY_OLD: setting({
    meaning: 'old master key; decrypts secrets that `tributary key rotate-master` has not encrypted again yet',
    kind: optional(masterKey),
    default_text: null,
    secret: 'whole',
  }),
  TRIBUTARY_TRUSTED_PROXIES: setting({
    meaning: 'proxies whose X-Forwarded-For the service trusts',
    kind: networks,
    default_text: '',
  }),
  TRIBUTARY_DRAIN_MS: setting({
    meaning: 'time that a stopping service still accepts requests while /ready answers 503, so load balancers notice',
    kind: whole(0, 15_000),
    default_text: '0',
  }),
  TRIBUTARY_REQUESTS_IN_FLIGHT_MAX: setting({
    meaning: 'maximum of ingest requests in progress; one app or address has half; more are answered 503 at once',
    kind: whole(1, 100_000),
    default_text: String(limits.requests_in_flight_max),
  }),
  TRIBUTARY_BODY_BYTES_IN_FLIGHT_MAX: setting({
    meaning:
      'maximum of bytes of ingest bodies in memory, also inflated: a quarter for unchecked signatures; one app or address has half of each part; more are answered 503 at once',
    kind: whole(6 * limits.bulk_body_bytes_max, 2 ** 36),
    default_text: String(limits.body_bytes_in_flight_max),
  }),
  TRIBUTARY_LOG_LEVEL: setting({
    meaning: 'lowest level of log lines that are written',
    kind: choice('trace', 'debug', 'info', 'warn', 'error', 'silent'),
    default_text: 'info',
  }),
  TRIBUTARY_LOG_FORMAT: setting({
    meaning: 'form of log lines: pretty is one coloured line an entry; auto is pretty on a terminal and json elsewhere',
    kind: choice('auto', 'json', 'pretty'),
    default_text: 'auto',
  }),
  TRIBUTARY_PARTS: setting({
    meaning: 'parts that attribution or housekeeper runs; default: all of its own',
    kind: optional(parts),
    default_text: null,
  }),

  TRIBUTARY_KAFKA_BROKERS: setting({
    meaning: 'host:port of Kafka brokers, by comma; without it standalone keeps its own log',
    kind: optional(brokers),
    default_text: null,
  }),
  TRIBUTARY_KAFKA_TLS: setting({ meaning: 'true: TLS to Kafka', kind: flag, default_text: 'false' }),
  TRIBUTARY_KAFKA_TLS_CA_FILE: setting({
    meaning: "PEM file of the authority that signed Kafka's certificates; default: the authorities that Node trusts",
    kind: optional(text),
    default_text: null,
  }),
  TRIBUTARY_KAFKA_SASL: setting({
    meaning: 'plain, scram-sha-256 or scram-sha-512, with the two settings below; default: no SASL',
    kind: optional(choice('plain', 'scram-sha-256', 'scram-sha-512')),
    default_text: null,
  }),
  TRIBUTARY_KAFKA_USERNAME: setting({ meaning: 'user of SASL', kind: optional(text), default_text: null }),
  TRIBUTARY_KAFKA_PASSWORD: setting({
    meaning: 'password of SASL',
    kind: optional(text),
    default_text: null,
    secret: 'whole',
  }),
  TRIBUTARY_KAFKA_LINGER_MS: setting({
    meaning: 'time between two sends to Kafka, in which records wait for each other',
    kind: whole(0, 1000),
    default_text: '5',
  }),
  TRIBUTARY_KAFKA_SEND_BYTES_MAX: setting({
    meaning: 'maximum of bytes in one send to a partition of Kafka',
    kind: whole(1024, 1_000_000),
    default_text: '1000000',
  }),
  TRIBUTARY_KAFKA_BUFFER_BYTES_MAX: setting({
    meaning: 'maximum of bytes that wait for Kafka; requests beyond it are answered 503',
    kind: whole(1_000_000, 2 ** 31),
    default_text: '67108864',
  }),
  TRIBUTARY_KAFKA_REPLICATION_FACTOR: setting({
    meaning: 'copies of each record, for `tributary topics apply`; 1 on a single broker',
    kind: whole(1, 15),
    default_text: '3',
  }),
  TRIBUTARY_KAFKA_MIN_INSYNC_REPLICAS: setting({
    meaning: 'minimum of copies of an acknowledged record, for `tributary topics apply`; 1 on a single broker',
    kind: whole(1, 15),
    default_text: '2',
  }),

  TRIBUTARY_CLICKHOUSE_URL: setting({
    meaning: 'http(s)://user:password@host:8123/database; without it standalone runs its own engine',
    kind: optional(address('http', 'https')),
    default_text: null,
    secret: 'password',
  }),
  TRIBUTARY_CLICKHOUSE_CONNECT_TIMEOUT_MS: setting({
    meaning: 'maximum time of a connection attempt to ClickHouse',
    kind: whole(1, 60_000),
    default_text: '2000',
  }),
  TRIBUTARY_CLICKHOUSE_QUERY_TIMEOUT_MS: setting({
    meaning: 'maximum time of one query or insert on ClickHouse',
    kind: whole(100, 600_000),
    default_text: '30000',
  }),
  TRIBUTARY_CLICKHOUSE_REPLICATED: setting({
    meaning: 'true: `tributary migrate` makes Replicated tables (needs a Keeper and TRIBUTARY_CLICKHOUSE_CLUSTER)',
    kind: flag,
    default_text: 'false',
  }),
  TRIBUTARY_CLICKHOUSE_CLUSTER: setting({
    meaning: 'name of the cluster, one shard, on which `tributary migrate` makes Replicated tables (ON CLUSTER)',
    kind: optional(word),
    default_text: null,
  }),

  TRIBUTARY_POSTGRES_URL: setting({
    meaning:
      'postgres://user:password@host:5432/database?sslmode=verify-full; without it standalone runs its own server',
    kind: optional(address('postgres', 'postgresql')),
    default_text: null,
    secret: 'password',
  }),
  TRIBUTARY_POSTGRES_ROLE_PASSWORDS: setting({
    meaning: 'service=password, by comma: `tributary migrate` makes a role for each, such as tributary_report_api',
    kind: optional(rolePasswords),
    default_text: null,
    secret: 'whole',
  }),
  TRIBUTARY_POSTGRES_POOL_MAX: setting({
    meaning: 'maximum of connections of one process to PostgreSQL',
    kind: whole(3, 200),
    default_text: '8',
  }),
  TRIBUTARY_POSTGRES_STATEMENT_TIMEOUT_MS: setting({
    meaning: 'maximum time of one statement on PostgreSQL',
    kind: whole(100, 600_000),
    default_text: '10000',
  }),

  TRIBUTARY_AAK_JWKS_URL: setting({
    meaning:
      'JWK set with further keys of AdAttributionKit postbacks, which count as production; https, or http on this machine',
    kind: optional(keySetAddress),
    default_text: null,
  }),

  TRIBUTARY_SKAN_TEST_KEY: setting({
    meaning:
      'public key of the samples in examples/postbacks, base64; without it they are unverifiable, with it they count for apps with --development-keys on',
    kind: optional(publicKey),
    default_text: null,
  }),

  TRIBUTARY_REDIS_URL: setting({
    meaning:
      'redis(s)://user:password@host:6379/0, nodes of a cluster by comma; without it standalone counts by itself',
    kind: optional(addresses('redis', 'rediss')),
    default_text: null,
    secret: 'password',
  }),

  TRIBUTARY_S3_BUCKET: setting({
    meaning: 'bucket of the audit objects; without it standalone keeps them in the data folder',
    kind: optional(text),
    default_text: null,
  }),
  TRIBUTARY_S3_ENDPOINT: setting({
    meaning: "address of an S3 server that is not Amazon's; it must honour If-None-Match",
    kind: optional(address('http', 'https')),
    default_text: null,
  }),
  TRIBUTARY_S3_REGION: setting({ meaning: 'region of the bucket', kind: text, default_text: 'us-east-1' }),
  TRIBUTARY_S3_ACCESS_KEY_ID: setting({
    meaning: "S3 credentials; default: the AWS SDK's own chain (environment, role)",
    kind: optional(text),
    default_text: null,
  }),
  TRIBUTARY_S3_SECRET_ACCESS_KEY: setting({
    meaning: 'secret of TRIBUTARY_S3_ACCESS_KEY_ID',
    kind: optional(text),
    default_text: null,
    secret: 'whole',
  }),

  OTEL_EXPORTER_OTLP_ENDPOINT: setting({
    meaning:
      'address of an OpenTelemetry collector that takes OTLP over HTTP, such as http://collector:4318; without it there are no traces',
    kind: optional(shownAddress),
    default_text: null,
  }),
  OTEL_EXPORTER_OTLP_HEADERS: setting({
    meaning: 'headers of each request to the collector, such as its key',
    kind: optional(requestHeaders),
    default_text: null,
    secret: 'whole',
  }),
  OTEL_TRACES_SAMPLER: setting({
    meaning: 'how the recorded traces are chosen; a request has no parent, so parentbased_ changes nothing',
    kind: choice(
      'parentbased_traceidratio',
      'traceidratio',
      'parentbased_always_on',
      'always_on',
      'parentbased_always_off',
      'always_off',
    ),
    default_text: 'parentbased_traceidratio',
  }),
  OTEL_TRACES_SAMPLER_ARG: setting({
    meaning: 'share of traces that traceidratio records',
    kind: ratio,
    default_text: '0.01',
  }),
}

/** Names that begin with `TRIBUTARY_` and are read by docker-compose.yml and by tests alone. */
export const foreignSettings = [
  'TRIBUTARY_LISTEN',
  'TRIBUTARY_ADMIN_LISTEN',
  'TRIBUTARY_SUBNET',
  'TRIBUTARY_RECORD_STATEMENTS',
  'TRIBUTARY_REQUIRE_ENGINES',
  'TRIBUTARY_TEST_SEED',
  'TRIBUTARY_TEST_CHROMIUM',
  ...['KAFKA', 'REDIS', 'S3', 'CLICKHOUSE', 'POSTGRES'].map((engine) => `TRIBUTARY_TEST_${engine}_URL`),
  'TRIBUTARY_TEST_VERSITYGW',
  'TRIBUTARY_TEST_S3_ACCESS_KEY',
  'TRIBUTARY_TEST_S3_SECRET_KEY',
  'TRIBUTARY_TEST_ROUNDS',
  'TRIBUTARY_VECTORS',
]

export type SettingName = keyof typeof settings
export type SettingValue<Name extends SettingName> = z.infer<(typeof settings)[Name]['schema']>
