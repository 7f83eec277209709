import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type BuiltPanel, builtIn } from '../server/built-panel.ts'
import { panel } from '../server/panel.ts'

let folder: string
let built: BuiltPanel
let app: FastifyInstance
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tributary-panel-'))
  built = builtIn(join(folder, 'build'))
  app = createHttpApp({ logger: pino({ level: 'silent' }) })
  await app.register(panel(built))
})
afterEach(async () => {
  await app.close()
  rmSync(folder, { recursive: true })
})

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })

function build() {
  mkdirSync(join(built.dir, 'assets'), { recursive: true })
  writeFileSync(join(built.dir, 'index.html'), '<!doctype html><title>Tributary</title>')
  writeFileSync(join(built.dir, 'assets', 'main-1a2b.js'), 'let whole')
  writeFileSync(join(built.dir, 'assets', 'main-1a2b.js.br'), 'small')
}

it('says that it is being built and loads itself again, says that a build failed, and shows the panel once it is built', async () => {
  expect((await get('/admin/overview')).body).toMatch(/waiting.js[\s\S]*is being built/)
  writeFileSync(built.failure, 'a fault of a source')
  const failed = await get('/admin/')
  expect(failed.body).toContain('could not be built')
  expect(failed.body).not.toMatch(/waiting.js|a fault of a source/)
  build()
  expect((await get('/admin/')).body).toContain('<title>Tributary</title>')
})

it('gives each page the same document under a policy without anything inline, and keeps files for ever, compressed', async () => {
  build()
  for (const path of ['/admin/', '/admin/overview?app=app_1', '/admin/install/i-1']) {
    const { statusCode, body, headers } = await get(path)
    expect([path, statusCode, body]).toEqual([path, 200, expect.stringContaining('<title>Tributary</title>')])
    expect(headers['content-security-policy']).toMatch(/^default-src 'self';.*require-trusted-types-for 'script'/)
    expect(headers['content-security-policy']).not.toContain('unsafe')
    expect(headers['cache-control']).toBe('no-cache')
  }
  const file = await get('/admin/assets/main-1a2b.js', { 'accept-encoding': 'gzip, br' })
  expect([file.body, file.headers['content-encoding']]).toEqual(['small', 'br'])
  expect(file.headers['cache-control']).toMatch(/immutable/)
  expect((await get('/admin/assets/main-1a2b.js')).body).toBe('let whole')
})

it('answers nothing in place of the API, of a file that is gone, or outside of its folder', async () => {
  build()
  writeFileSync(join(folder, 'secret.js'), 'secret')
  for (const path of ['/admin/api', '/admin/api/v1', '/admin/assets/old.js', '/admin/assets/..%2f..%2fsecret.js'])
    expect([path, (await get(path)).statusCode]).toEqual([path, 404])
})

it('lets no browser keep that a file is not there: a build that is to come has it', async () => {
  const asked = '/admin/assets/main-1a2b.js'
  const early = await get(asked)
  expect([early.statusCode, early.headers['cache-control']]).toEqual([404, 'no-cache'])
  build()
  expect((await get(asked)).body).toBe('let whole')
  const old = await get('/admin/assets/old.js')
  expect([old.statusCode, old.headers['cache-control']]).toEqual([404, 'no-cache'])
})
