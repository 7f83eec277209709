import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ServiceOptions } from '@tributary/service-kit/service/run-service'
import { readSettings } from '@tributary/service-kit/settings/read-settings'
import { foreignSettings, type Setting, type SettingName, settings } from '@tributary/service-kit/settings/settings'
import { StartRefused } from '@tributary/service-kit/settings/start-refused'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..', '..', '..')

const problemsOf = (read: () => unknown): string[] => {
  try {
    read()
  } catch (error) {
    if (error instanceof StartRefused) return error.message.split('\n').slice(1)
    throw error
  }
  return []
}

test('a start without what is required is refused, and says all that is wrong at once and what each is for', () => {
  const env = { TRIBUTARY_PORT: 'http', TRIBUTARY_ADMIN_TOKEN: 'short', TRIBUTARY_MASTER_KEY: '' }
  const problems = problemsOf(() =>
    readSettings(env, ['TRIBUTARY_PORT', 'TRIBUTARY_HOST'], ['TRIBUTARY_ADMIN_TOKEN', 'TRIBUTARY_MASTER_KEY']),
  )
  expect(problems).toEqual([
    '  TRIBUTARY_PORT: "http" was given; it must be a whole number from 0 to 65535',
    '  TRIBUTARY_ADMIN_TOKEN: a text of 5 characters was given; it must be text of at least 32 characters without a line break, as of: openssl rand -hex 32',
    expect.stringMatching(/^ {2}TRIBUTARY_MASTER_KEY is needed: 32 bytes in base64 /),
  ])
})

test('one wrong setting is enough', () => {
  expect(problemsOf(() => readSettings({}, [], ['TRIBUTARY_KAFKA_BROKERS']))).toHaveLength(1)
})

test('what is not set, or empty, has its default, which is enough for a required one', () => {
  const env = { TRIBUTARY_HOST: '', TRIBUTARY_PORT: '1234' }
  const found = readSettings(
    env,
    ['TRIBUTARY_PORT', 'TRIBUTARY_ADMIN_TOKEN'],
    ['TRIBUTARY_HOST', 'TRIBUTARY_LOG_LEVEL'],
  )
  expect(found).toEqual({
    TRIBUTARY_PORT: 1234,
    TRIBUTARY_ADMIN_TOKEN: undefined,
    TRIBUTARY_HOST: '127.0.0.1',
    TRIBUTARY_LOG_LEVEL: 'info',
  })
})

test('a setting that nobody knows is refused, naming the nearest one if one is near, together with all else that is wrong', () => {
  const env = {
    TRIBUTARY_FOO: '1',
    TRIBUTARY_PROT: '8080',
    TRIBUTARY_PORTS: '8080',
    TRIBUTARY_KAFKA_BROKER: 'a:1',
    TRIBUTARY_HOST_: undefined,
    TRIBUTARY_NOTHING: '',
    TRIBUTARYX: '1',
  }
  expect(problemsOf(() => readSettings({ ...env, TRIBUTARY_LOG_LEVEL: 'loud' }, ['TRIBUTARY_LOG_LEVEL']))).toEqual([
    '  TRIBUTARY_FOO is no setting: docs/settings.md lists all.',
    '  TRIBUTARY_KAFKA_BROKER is no setting: did you mean TRIBUTARY_KAFKA_BROKERS?',
    '  TRIBUTARY_PORTS is no setting: did you mean TRIBUTARY_PORT?',
    '  TRIBUTARY_PROT is no setting: did you mean TRIBUTARY_PORT?',
    '  TRIBUTARY_LOG_LEVEL: "loud" was given; it must be trace, debug, info, warn, error or silent',
  ])
})

test.each([
  [{ CLICKHOUSE_REPLICATED: 'true' }, ['CLICKHOUSE_URL', 'CLICKHOUSE_CLUSTER']],
  [{ CLICKHOUSE_REPLICATED: 'true', CLICKHOUSE_CLUSTER: 'c' }, ['CLICKHOUSE_URL']],
  [{ CLICKHOUSE_REPLICATED: 'false' }, []],
  [{ KAFKA_USERNAME: 'u', KAFKA_BROKERS: 'a:1' }, ['KAFKA_SASL']],
  [{ KAFKA_TLS_CA_FILE: 'f', KAFKA_TLS: 'false' }, ['KAFKA_TLS']],
  [{ S3_ENDPOINT: 'http://s3', S3_BUCKET: '' }, ['S3_BUCKET']],
  [{ S3_SECRET_ACCESS_KEY: 's', S3_BUCKET: 'b' }, ['S3_ACCESS_KEY_ID']],
])('%j is refused without %j, whoever reads the settings', (given, missing) => {
  const env = Object.fromEntries(Object.entries(given).map(([name, value]) => [`TRIBUTARY_${name}`, value]))
  const names = missing.map((name) => `TRIBUTARY_${name}`).join(' and ')
  const line = `  TRIBUTARY_${Object.keys(given)[0]} does nothing without ${names}: set all, or none`
  expect(problemsOf(() => readSettings(env, []))).toEqual(missing.length === 0 ? [] : [line])
})

test('one environment serves all services, and tests and the compose file have names of their own', () => {
  const others = Object.fromEntries([...Object.keys(settings), ...foreignSettings].map((name) => [name, 'anything']))
  expect(problemsOf(() => readSettings(others, []))).toEqual([])
})

// A bell is no value of any kind.
const everyWrong = Object.fromEntries(Object.keys(settings).map((name) => [name, '\u0007']))
const services = globSync('services/*/src/service.ts', { cwd: root })
const readers = await Promise.all(
  services.map(async (path) => {
    const { service } = (await import(join(root, path))) as { service: ServiceOptions<unknown> }
    return { name: service.name, read: () => service.readConfig(everyWrong) }
  }),
)

test.each(readers)('$name says of each wrong setting in plain words what it was and what it must be', ({ read }) => {
  const problems = problemsOf(read)
  expect(problems.length).toBeGreaterThan(10)
  for (const line of problems) {
    expect(line).toMatch(
      /^ {2}(TRIBUTARY|OTEL)_\w+: ("\\u0007"|a text of 1 characters) (was given; it must be|is no) [^.]/,
    )
    expect(line).not.toMatch(/invalid|expected|received|pattern|regex|input/i)
  }
})

test.each(Object.entries(settings))('%s takes its default, and a secret one is never shown', (name, setting) => {
  const { default_text, secret } = setting as Setting<unknown>
  expect(problemsOf(() => readSettings({ [name]: default_text ?? '' }, [name as SettingName]))).toEqual([])
  const [line] = problemsOf(() => readSettings({ [name]: 'hush\u0007hush' }, [name as SettingName]))
  expect(line).toContain(`${name}: `)
  expect(line!.includes('hush')).toBe(secret === undefined)
})

test('what an address, a list, a number may look like', () => {
  const right: Partial<Record<SettingName, string[]>> = {
    TRIBUTARY_PORT: ['0', '65535'],
    TRIBUTARY_TRUSTED_PROXIES: ['10.0.0.7, fd00::/8', ','],
    TRIBUTARY_KAFKA_BROKERS: ['a:9092,b:9092'],
    TRIBUTARY_REDIS_URL: ['redis://a:1/0,rediss://b:2/0'],
    TRIBUTARY_CLICKHOUSE_URL: ['https://u:p@host:8443/tributary'],
    TRIBUTARY_ATTENTION_WEBHOOK: ['https://hooks.example.com/a?b=c', 'http://127.0.0.1:9/'],
    OTEL_EXPORTER_OTLP_ENDPOINT: ['http://collector:4318', 'https://otlp.example.com/otlp/'],
    OTEL_TRACES_SAMPLER_ARG: ['0', '1', '1.0', '0.01', '0.000001'],
    OTEL_EXPORTER_OTLP_HEADERS: ['api-key=a', 'a=b=, c = d%20e ', ','],
  }
  const wrong: typeof right = {
    TRIBUTARY_PORT: ['65536', '-1', '8080.5', '0x10', ' '],
    TRIBUTARY_TRUSTED_PROXIES: ['10.0.0.0/33'],
    TRIBUTARY_KAFKA_BROKERS: [',', 'a'],
    TRIBUTARY_REDIS_URL: ['redis://a:1/0,http://b'],
    TRIBUTARY_CLICKHOUSE_URL: ['clickhouse://host', 'host:8123'],
    TRIBUTARY_ATTENTION_WEBHOOK: ['http://10.0.0.1/', 'https://u:p@a/', 'file:///a'],
    OTEL_EXPORTER_OTLP_ENDPOINT: ['collector:4317', 'grpc://collector:4317', 'http://u:p@collector'],
    OTEL_TRACES_SAMPLER_ARG: ['1.1', '-0', '.5', '1e-3', 'NaN', '50%'],
    OTEL_EXPORTER_OTLP_HEADERS: ['a', '=b', 'a:b=c', 'a=%0d%0ab', 'a=%zz'],
  }
  const count = (values: typeof right) =>
    Object.entries(values).flatMap(([name, texts]) =>
      texts.map((text) => problemsOf(() => readSettings({ [name]: text }, [name as SettingName])).length),
    )
  expect([new Set(count(right)), new Set(count(wrong))]).toEqual([new Set([0]), new Set([1])])
})

test('headers of requests are decoded', () => {
  const { schema } = settings.OTEL_EXPORTER_OTLP_HEADERS
  expect(schema.parse('authorization=Bearer%20a%2Cb==, x = y')).toEqual({ authorization: 'Bearer a,b==', x: 'y' })
})

test('addresses of mail are plain ones, and few', () => {
  const { schema } = settings.TRIBUTARY_ATTENTION_MAIL
  expect(schema.parse('ops@example.com, o+1@a.b,')).toEqual(['ops@example.com', 'o+1@a.b'])
  for (const wrong of ['ops', 'a@b@c', 'a b@c', 'Ops <a@b.c>', 'a@b\nBcc: c@d', 'a@b,'.repeat(21)])
    expect(schema.safeParse(wrong).success, wrong).toBe(false)
})

test('every name that this repository uses is known', () => {
  const files = globSync('**/*.{ts,mjs,yml,yaml,sh,md,json}', {
    cwd: root,
    exclude: (path) => path.endsWith('node_modules'),
  })
  expect(files.length).toBeGreaterThan(100)
  const used = [...files, '.env.example', 'infra/Dockerfile']
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap(
      (file) => readFileSync(join(root, file), 'utf8').match(/\bTRIBUTARY_[A-Z0-9_]*[A-Z0-9]\b(?![_{*<])/g) ?? [],
    )
  // A setting that docs/consumers.md shows how to add.
  const shown = readFileSync(join(root, 'docs/consumers.md'), 'utf8').matchAll(/^\+ {2}(TRIBUTARY_\w+): setting/gm)
  const added = new Set([...shown].map(([, name]) => name))
  const env = Object.fromEntries([...new Set(used)].filter((name) => !added.has(name)).map((name) => [name, 'x']))
  expect(problemsOf(() => readSettings(env, []))).toEqual([])
})
