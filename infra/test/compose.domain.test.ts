import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { settings } from '@tributary/service-kit/settings'
import { describe, expect, it } from 'vitest'
import { serviceFlags } from '../../bench/door/gateway-process.ts'
import { clickhouse } from '../engines/clickhouse-http.ts'
import { kafka } from '../engines/kafka.ts'
import { postgres } from '../engines/postgres.ts'
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

it('runs every service that there is', () => {
  const folders = readdirSync(join(root, 'services')).filter((name) => name !== 'standalone')
  const mains = folders.map((name) => `services/${name}/src/main.ts`).filter((file) => existsSync(join(root, file)))
  expect(running.flatMap(([, { command }]) => command).sort()).toEqual(mains.sort())
})

it('names only settings that the product knows', () => {
  const named = ours.flatMap(([, { environment = {} }]) => Object.keys(environment))
  expect(Object.keys(settings)).toEqual(expect.arrayContaining(named))
})

describe('secrets', () => {
  it('asks for the variables of .env.example and no others', () => {
    const used = [...composeText.matchAll(/\$\{(\w+)/g)].map(([, name]) => name)
    expect([...new Set(used)].sort()).toEqual(Object.keys(example).sort())
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
  for (const script of [start, service, bench]) expect(script).toMatch(`node ${flags.join(' ')} infra/bootstrap.mjs `)
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

it('starts each service after the servers that its settings name', () => {
  for (const [name, { environment }] of ours) {
    const hosts = Object.values(environment ?? {}).flatMap((value) => [...`${value}`.matchAll(/([\w-]+):\d{4}\b/g)])
    for (const [, host = ''] of hosts) expect(before(name), name).toContain(host)
  }
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
  const { node } = JSON.parse(read('package.json')).devDependencies
  expect(new Set(readDockerfile().from)).toEqual(new Set([`node:${node}-slim`]))
  const images = [services.kafka, services.clickhouse, services.postgres].map((service) => service?.image)
  expect(images).toEqual([kafka, clickhouse, postgres].map(({ container }) => container.image))
})

it('gives each service a ClickHouse user of roles.sql, and roles.sql the same password', () => {
  const asked = [...read('clickhouse/roles.sql').matchAll(/\{(\w+):String\}/g)].map(([, name]) => name)
  const given = (services['clickhouse-roles']?.command ?? []).flatMap((arg) => [
    ...arg.matchAll(/^--param_(\w+)=(.*)$/g),
  ])
  expect(given.map(([, name]) => name).sort()).toEqual(asked.sort())
  const password = Object.fromEntries(given.map(([, name, value]) => [name, value]))
  const urls = ours.flatMap(([, { environment }]) => environment?.TRIBUTARY_CLICKHOUSE_URL ?? [])
  const users = urls.map((url) => new URL(url))
  for (const { username, password: own } of users)
    expect(password[`${username.replace('tributary_', '')}_password`]).toBe(own)
  expect(new Set(users.map(({ username }) => username)).size).toBe(asked.length)
})
