import type { InstallRecord } from '@tributary/contracts/install-record'
import { expect, it } from 'vitest'
import { fileWith, tributary } from '../run-tributary.ts'
import { service } from './fake-admin-api.ts'

const record: InstallRecord = {
  ...{ app_id: 'app_1', install_uuid: 'i-1', installed_at_ms: Date.UTC(2026, 5, 1), verdict: null, rule_version: null },
  ...{ windows: null, candidates: [], pending: false, history: [], identities: [], receipts: [] },
}
const answering = () =>
  service({
    'GET /api/v1/installs/i-1': ({ headers }) =>
      headers.authorization === 'Bearer srv_1'
        ? { status: 200, body: record }
        : { status: 401, body: { error: 'invalid_or_revoked_key' } },
    'GET /api/v1/installs/nobody%2Fx': () => ({ status: 404, body: { error: 'unknown_install' } }),
  })

it('prints the record with --json and a story without, wherever the key comes from', async () => {
  const env = await answering()
  const file = await fileWith('key', 'srv_1\n')
  const ways = [
    tributary(['explain', 'i-1', '--key', 'srv_1', '--json'], env),
    tributary(['explain', 'i-1', '--key-file', file, '--json'], env),
    tributary(['explain', 'i-1', '--key', '-', '--json'], env, 'srv_1\n'),
    tributary(['explain', 'i-1', '--json'], { ...env, TRIBUTARY_SERVER_KEY: 'srv_1' }),
  ]
  for (const { stdout } of await Promise.all(ways)) expect(JSON.parse(stdout)).toEqual(record)
  const story = await tributary(['explain', 'i-1', '--key', 'srv_1'], env)
  expect(story).toEqual({
    ...{ code: 0, stderr: '' },
    stdout:
      'Install i-1 of app app_1\n\nInstalled at 2026-06-01 00:00:00 UTC.\nNot decided yet: a verdict follows within seconds.\n',
  })
})

it('says in words that an install or a key is unknown', async () => {
  const env = await answering()
  const unknown = await tributary(['explain', 'nobody/x', '--key', 'srv_1'], env)
  expect(unknown).toMatchObject({ code: 1, stdout: '' })
  expect(unknown.stderr).toBe('unknown_install: The app of this key has no install with this id.\n')
  const refused = await tributary(['explain', 'i-1', '--key', 'srv_2', '--json'], env)
  expect([refused.code, JSON.parse(refused.stderr).error]).toEqual([1, 'invalid_or_revoked_key'])
  const none = await tributary(['explain', 'i-1', '--json'], env)
  expect([none.code, JSON.parse(none.stderr).error]).toEqual([2, 'usage'])
})
