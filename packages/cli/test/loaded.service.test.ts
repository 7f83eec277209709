import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Command } from 'commander'
import { expect, it } from 'vitest'
import { commands } from '../src/program.ts'

const main = join(import.meta.dirname, '..', 'src', 'main.ts')

it('the name of a command leads to that command', async () => {
  const found = Object.entries(commands).map(async ([name, load]) => {
    const program = new Command()
    const add = await load()
    add(program)
    return [name, program.commands.map((one) => one.name())]
  })
  expect(await Promise.all(found)).toEqual(Object.keys(commands).map((name) => [name, [name]]))
})

/** Prints the packages from which a program loaded files. */
const listing = `
import { registerHooks } from 'node:module'
const loaded = new Set()
registerHooks({ load(url, context, next) {
  loaded.add(url.match(/node_modules\\/((?:@[^/]+\\/)?[^/]+)/)?.[1])
  return next(url, context)
} })
process.on('exit', () => process.stdout.write(JSON.stringify([...loaded])))`

it('a command that only sends requests loads none of the packages of services and engines, so that it starts at once', async () => {
  const preload = `--import=data:text/javascript,${encodeURIComponent(listing)}`
  const args = [preload, main, 'company', 'list', '--json']
  const env = { PATH: process.env.PATH, TRIBUTARY_ADMIN_TOKEN: 'a'.repeat(32), TRIBUTARY_URL: 'http://127.0.0.1:1' }
  const { code, stdout } = await promisify(execFile)(process.execPath, args, { env }).catch((error) => error)
  expect(code).toBe(1) // nothing listens there
  const loaded: string[] = JSON.parse(stdout)
  expect(loaded).toEqual(expect.arrayContaining(['commander', 'zod']))
  for (const heavy of ['prom-client', 'pino', 'fastify', 'kafkajs', 'pg', 'lmdb', 'chdb', '@aws-sdk']) {
    expect(loaded.filter((name) => name?.startsWith(heavy))).toEqual([])
  }
})
