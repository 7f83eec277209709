import { limits } from '@tributary/contracts/limits'
import { z } from 'zod'
import { isNetwork } from './client-address.ts'

export interface Setting<T> {
  meaning: string
  schema: z.ZodType<T>
  /** Text of the default, as one would write it in the environment; null: there is none. */
  default_text: string | null
  /** `whole`: never shown; `password`: an address, shown without the password in it. */
  secret?: 'whole' | 'password'
}

const setting = <T>(definition: Setting<T>): Setting<T> => definition
const whole = (min: number, max: number) => z.coerce.number().int().min(min).max(max)
const text = z.string().min(1)
const flag = z.enum(['true', 'false']).transform((value) => value === 'true')
const list = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
)
const neededAddress = (...schemes: string[]) =>
  z
    .string()
    .refine(
      (value) => URL.canParse(value) && schemes.includes(new URL(value).protocol.slice(0, -1)),
      `needs an address that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
    )
const networks = list.superRefine((items, context) => {
  for (const item of items.filter((one) => !isNetwork(one))) {
    const message = `${JSON.stringify(item)} is no address or CIDR range such as 10.0.0.7, 10.0.0.0/8 or fd00::/8`
    context.addIssue({ code: 'custom', message })
  }
})
const address = (...schemes: string[]) => neededAddress(...schemes).optional()
const brokers = list.refine(
  (items) => items.length > 0 && items.every((item) => /^.+:\d{1,5}$/.test(item)),
  'needs host:port, or several by comma',
)

/** Every setting of the product; `tributary config` prints this list (commands.md "Settings"). */
export const settings = {
  TRIBUTARY_PORT: setting({
    meaning: 'port to listen on; 0 takes a free one',
    schema: whole(0, 65_535),
    default_text: '8080',
  }),
  TRIBUTARY_HOST: setting({ meaning: 'address to listen on', schema: text, default_text: '127.0.0.1' }),
  TRIBUTARY_URL: setting({
    meaning: 'where the tributary command finds the service (distributed: admin-api)',
    schema: neededAddress('http', 'https'),
    default_text: 'http://127.0.0.1:8080',
  }),
  TRIBUTARY_DATA_DIR: setting({
    meaning: 'folder of the embedded engines, keys and audit objects',
    schema: text,
    default_text: './.tributary',
  }),
  TRIBUTARY_DISK_FREE_MIN_BYTES: setting({
    meaning: 'a disk with less free space, or with less than a tenth of it free, is a warning',
    schema: whole(0, 2 ** 50),
    default_text: '2147483648',
  }),
  TRIBUTARY_ADMIN_TOKEN: setting({
    meaning: 'bearer token of the admin API; standalone makes one in the data folder',
    schema: z.string().min(8, 'needs at least 8 characters').optional(),
    default_text: null,
    secret: 'whole',
  }),
  TRIBUTARY_MASTER_KEY: setting({
    meaning: '32 bytes in base64 that encrypt signing secrets; standalone makes one in the data folder',
    schema: z
      .string()
      .refine((value) => Buffer.from(value, 'base64').length === 32, 'needs 32 bytes in base64')
      .optional(),
    default_text: null,
    secret: 'whole',
  }),
  TRIBUTARY_TRUSTED_PROXIES: setting({
    meaning: 'addresses or CIDR ranges, by comma, whose X-Forwarded-For is believed',
    schema: networks,
    default_text: '',
  }),
  TRIBUTARY_DRAIN_MS: setting({
    meaning: 'how long a stopping service still takes requests while /ready answers 503, so that load balancers notice',
    schema: whole(0, 15_000),
    default_text: '0',
  }),
  TRIBUTARY_REQUESTS_IN_FLIGHT_MAX: setting({
    meaning:
      'ingest requests worked on at the same time, half of them for one app or address; more are answered 503 at once',
    schema: whole(1, 100_000),
    default_text: String(limits.requests_in_flight_max),
  }),
  TRIBUTARY_BODY_BYTES_IN_FLIGHT_MAX: setting({
    meaning:
      'bytes of all bodies of ingest requests in memory, inflated ones too, half of them for one app or address; more are answered 503 at once',
    schema: whole(2 * limits.bulk_body_bytes_max, 2 ** 36),
    default_text: String(limits.body_bytes_in_flight_max),
  }),
  TRIBUTARY_LOG_LEVEL: setting({
    meaning: 'trace, debug, info, warn, error or silent',
    schema: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']),
    default_text: 'info',
  }),

  TRIBUTARY_KAFKA_BROKERS: setting({
    meaning: 'host:port of Kafka brokers, by comma; without it standalone keeps its own log',
    schema: brokers.optional(),
    default_text: null,
  }),
  TRIBUTARY_KAFKA_TLS: setting({ meaning: 'true: TLS to Kafka', schema: flag, default_text: 'false' }),
  TRIBUTARY_KAFKA_TLS_CA_FILE: setting({
    meaning: "PEM file of the authority that signed Kafka's certificates; without it those that Node trusts",
    schema: text.optional(),
    default_text: null,
  }),
  TRIBUTARY_KAFKA_SASL: setting({
    meaning: 'plain, scram-sha-256 or scram-sha-512, with the two settings below; no SASL without it',
    schema: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']).optional(),
    default_text: null,
  }),
  TRIBUTARY_KAFKA_USERNAME: setting({ meaning: 'user of SASL', schema: text.optional(), default_text: null }),
  TRIBUTARY_KAFKA_PASSWORD: setting({
    meaning: 'password of SASL',
    schema: text.optional(),
    default_text: null,
    secret: 'whole',
  }),
  TRIBUTARY_KAFKA_LINGER_MS: setting({
    meaning: 'how long a record waits for others before it is sent to Kafka',
    schema: whole(0, 1000),
    default_text: '5',
  }),
  TRIBUTARY_KAFKA_SEND_BYTES_MAX: setting({
    meaning: 'most bytes that one send brings to a partition of Kafka',
    schema: whole(1024, 1_000_000),
    default_text: '1000000',
  }),
  TRIBUTARY_KAFKA_BUFFER_BYTES_MAX: setting({
    meaning: 'most bytes that wait for Kafka; requests beyond are answered 503',
    schema: whole(1_000_000, 2 ** 31),
    default_text: '67108864',
  }),
  TRIBUTARY_KAFKA_REPLICATION_FACTOR: setting({
    meaning: 'copies of each record, for `tributary topics apply`; 1 on a single broker',
    schema: whole(1, 15),
    default_text: '3',
  }),
  TRIBUTARY_KAFKA_MIN_INSYNC_REPLICAS: setting({
    meaning: 'copies that an acknowledged record has at least, for `tributary topics apply`; 1 on a single broker',
    schema: whole(1, 15),
    default_text: '2',
  }),

  TRIBUTARY_CLICKHOUSE_URL: setting({
    meaning: 'http(s)://user:password@host:8123/database; without it standalone runs its own engine',
    schema: address('http', 'https'),
    default_text: null,
    secret: 'password',
  }),
  TRIBUTARY_CLICKHOUSE_CONNECT_TIMEOUT_MS: setting({
    meaning: 'longest wait for a connection to ClickHouse',
    schema: whole(1, 60_000),
    default_text: '2000',
  }),
  TRIBUTARY_CLICKHOUSE_QUERY_TIMEOUT_MS: setting({
    meaning: 'longest run of one question or insert on ClickHouse',
    schema: whole(100, 600_000),
    default_text: '30000',
  }),
  TRIBUTARY_CLICKHOUSE_REPLICATED: setting({
    meaning: 'true: `tributary migrate` makes Replicated tables (needs a Keeper and TRIBUTARY_CLICKHOUSE_CLUSTER)',
    schema: flag,
    default_text: 'false',
  }),
  TRIBUTARY_CLICKHOUSE_CLUSTER: setting({
    meaning: 'name of the cluster, one shard, on which `tributary migrate` makes Replicated tables (ON CLUSTER)',
    schema: z.string().regex(/^\w+$/, 'needs letters, digits and _ only').optional(),
    default_text: null,
  }),

  TRIBUTARY_POSTGRES_URL: setting({
    meaning:
      'postgres://user:password@host:5432/database?sslmode=verify-full; without it standalone runs its own server',
    schema: address('postgres', 'postgresql'),
    default_text: null,
    secret: 'password',
  }),
  TRIBUTARY_POSTGRES_POOL_MAX: setting({
    meaning: 'most connections of one process to PostgreSQL',
    schema: whole(3, 200),
    default_text: '8',
  }),
  TRIBUTARY_POSTGRES_STATEMENT_TIMEOUT_MS: setting({
    meaning: 'longest run of one statement on PostgreSQL',
    schema: whole(100, 600_000),
    default_text: '10000',
  }),

  TRIBUTARY_REDIS_URL: setting({
    meaning:
      'redis(s)://user:password@host:6379/0, nodes of a cluster by comma; without it standalone counts by itself',
    schema: text
      .refine(
        (value) => value.split(',').every((one) => URL.canParse(one) && /^rediss?:$/.test(new URL(one).protocol)),
        'needs addresses that begin with redis:// or rediss://',
      )
      .optional(),
    default_text: null,
    secret: 'password',
  }),

  TRIBUTARY_S3_BUCKET: setting({
    meaning: 'bucket of the audit objects; without it standalone keeps them in the data folder',
    schema: text.optional(),
    default_text: null,
  }),
  TRIBUTARY_S3_ENDPOINT: setting({
    meaning: "address of an S3 server that is not Amazon's; it must honour If-None-Match",
    schema: address('http', 'https'),
    default_text: null,
  }),
  TRIBUTARY_S3_REGION: setting({ meaning: 'region of the bucket', schema: text, default_text: 'us-east-1' }),
  TRIBUTARY_S3_ACCESS_KEY_ID: setting({
    meaning: "S3 credentials; without them the AWS SDK's own chain (environment, role)",
    schema: text.optional(),
    default_text: null,
  }),
  TRIBUTARY_S3_SECRET_ACCESS_KEY: setting({
    meaning: 'secret of TRIBUTARY_S3_ACCESS_KEY_ID',
    schema: text.optional(),
    default_text: null,
    secret: 'whole',
  }),
}

/** Names that begin with `TRIBUTARY_` and are read by docker-compose.yml and by tests alone. */
export const foreignSettings = [
  'TRIBUTARY_LISTEN',
  'TRIBUTARY_SUBNET',
  'TRIBUTARY_REQUIRE_ENGINES',
  ...['KAFKA', 'REDIS', 'S3', 'CLICKHOUSE', 'POSTGRES'].map((engine) => `TRIBUTARY_TEST_${engine}_URL`),
  'TRIBUTARY_TEST_S3_ACCESS_KEY',
  'TRIBUTARY_TEST_S3_SECRET_KEY',
]

export type SettingName = keyof typeof settings
export type SettingValue<Name extends SettingName> = z.infer<(typeof settings)[Name]['schema']>
