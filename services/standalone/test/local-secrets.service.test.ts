import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StartRefused } from '@tributary/service-kit/settings/start-refused'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { openLocalMasterKeys } from '../src/local-master-keys.ts'
import { openAdminToken } from '../src/local-secrets.ts'

// Keeps the server of the file running.
let server: TestPostgres
beforeAll(async () => {
  server = await openTestPostgres()
})
afterAll(() => server.close())

let data_dir: string
let file: string
beforeEach(() => {
  data_dir = mkdtempSync(join(tmpdir(), 'tributary-secrets-'))
  file = join(data_dir, 'master-key')
  onTestFinished(() => rmSync(data_dir, { recursive: true, force: true }))
})

const newKey = () => randomBytes(32).toString('base64')

/** A folder whose first start has been, and what a start says from then on. */
async function used(setting?: string) {
  const db = await openTestPostgres()
  onTestFinished(() => db.close())
  const open = (given?: string) => openLocalMasterKeys(db.pool, data_dir, given ? { TRIBUTARY_MASTER_KEY: given } : {})
  const first = await open(setting)
  const refusal = (given?: string) =>
    open(given).then(
      () => 'started',
      (error: unknown) => (error instanceof StartRefused ? error.message : Promise.reject(error)),
    )
  return { open, first, refusal }
}

test('a fresh folder makes its key, and a later start reads what an earlier one encrypted', async () => {
  const { first, open } = await used()
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const binding = { purpose: 'signing_secret', company_id: 'co_1', app_id: 'app_1' } as const
  const secret = first.encrypt('signing secret', binding)
  expect((await open()).decrypt(secret, binding)).toBe('signing secret')
})

test('a folder with secrets whose key is missing is refused in one line and gets no new key', async () => {
  const { refusal } = await used()
  const copy = readFileSync(file, 'utf8')
  rmSync(file)
  expect(await refusal()).toMatch(/^\S+\/master-key is missing, .* TRIBUTARY_MASTER_KEY\.$/)
  expect(existsSync(file)).toBe(false)
  expect(await refusal(copy.trim())).toBe('started')
})

test('a wrong key is refused in one line, whether it is in the file or in the setting', async () => {
  const { refusal } = await used()
  const right = readFileSync(file, 'utf8')
  writeFileSync(file, `${newKey()}\n`)
  expect(await refusal()).toMatch(
    /^The secrets in PostgreSQL were not made with the master key of \S+\/master-key .*copy\. .*TRIBUTARY_MASTER_KEY_OLD\.$/,
  )
  writeFileSync(file, right)
  expect(await refusal(newKey())).toMatch(
    /^The secrets .* of TRIBUTARY_MASTER_KEY \(id [0-9a-f]{8}\)\. Put .*copy\. .*TRIBUTARY_MASTER_KEY_OLD\.$/,
  )
  expect(await refusal()).toBe('started')
})

test.each(['', 'half a k'])('a key file that holds %j is refused, and is not written over', async (content) => {
  const { refusal } = await used()
  writeFileSync(file, content)
  expect(await refusal()).toMatch(/^\S+\/master-key holds no master key, 32 bytes in base64\. Put it there/)
  expect(readFileSync(file, 'utf8')).toBe(content)
})

test('with the setting no file is made, and without it again the folder is refused', async () => {
  const { refusal } = await used(newKey())
  expect(existsSync(file)).toBe(false)
  expect(await refusal()).toMatch(/is missing/)
})

test('a secret file that others may read or write is not believed', async () => {
  const { refusal } = await used()
  for (const mode of [0o640, 0o602]) {
    chmodSync(file, mode)
    expect(await refusal()).toMatch(/is open to other users\. .*chmod 600 \S+\/master-key$/)
  }
  openAdminToken(data_dir)
  chmodSync(join(data_dir, 'admin-token'), 0o644)
  expect(() => openAdminToken(data_dir)).toThrow(/chmod 600 \S+\/admin-token$/)
})

test.runIf(process.getuid?.() === 0)('a secret file of another user is not believed', async () => {
  const { refusal } = await used()
  chownSync(file, 65_534, 65_534)
  expect(await refusal()).toMatch(/belongs to user 65534, not to 0, .*chown 0 \S+\/master-key$/)
})

test('the admin token stays the same', () => {
  const token = openAdminToken(data_dir)
  expect(token).toMatch(/^[0-9a-f]{48}$/)
  expect(openAdminToken(data_dir)).toBe(token)
})
