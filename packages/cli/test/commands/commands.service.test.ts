import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { lockDataDir } from '@tributary/service-kit/data-dir/data-dir-lock'
import { describe, expect, it, onTestFinished } from 'vitest'
import { emptyFolder, fileWith, tributary } from '../run-tributary.ts'
import { token } from './fake-admin-api.ts'

describe('every command', () => {
  it('fails with "unavailable" when the service is unreachable', async () => {
    const env = { TRIBUTARY_URL: 'http://127.0.0.1:1', TRIBUTARY_ADMIN_TOKEN: token }
    for (const words of ['company list', 'status', 'status --wait --timeout 0', 'reports events --key srv_1']) {
      const run = await tributary([...words.split(' '), '--json'], env)
      expect(run).toMatchObject({ code: 1, stdout: '' })
      expect(JSON.parse(run.stderr)).toMatchObject({ error: 'unavailable' })
    }
  })

  it('ends with 2 when it was typed wrongly', async () => {
    const jsonl = await fileWith('a.jsonl', '')
    const typed = [
      '',
      'nonsense',
      'company',
      'company create',
      'company create --name A --plan gold',
      'company set co_1',
      'app set app_1',
      'app rotate-secret app_1 --overlap-hours soon',
      'app rotate-secret app_1 --overlap-hours 8761',
      'key create --app app_1 --label l --scope events:read',
      'app create --company c --name A --platform windows',
      'reports events --key k --since 2013-02-30',
      'reports events --key k --limit many',
      'backfill --key k',
      `backfill --key k ${jsonl} --map revenue`,
      'status --wait --timeout soon',
    ].map(async (words) => {
      const run = await tributary([...words.split(' ').filter((word) => word !== ''), '--json'])
      expect({ words, ...run }).toMatchObject({ words, code: 2, stdout: '' })
      expect(JSON.parse(run.stderr)).toMatchObject({ error: 'usage', message: expect.any(String) })
    })
    await Promise.all(typed)
  })

  it('has --help', async () => {
    const commands = ['', 'company create', 'company list', 'company suspend', 'company reinstate', 'app create']
    const more = [
      'key create',
      'key list',
      'key revoke',
      'key rotate-master',
      'status',
      'send',
      'backfill',
      'reports events',
      'config',
    ]
    const checked = [...commands, ...more, 'topics apply', 'migrate', 'master-key forget', 'doctor'].map(
      async (words) => {
        const run = await tributary([...words.split(' ').filter((word) => word !== ''), '--help'])
        expect(run).toMatchObject({ code: 0, stderr: '' })
        expect(run.stdout).toContain(`Usage: tributary ${words}`.trim())
        if (words !== '') expect(run.stdout).toContain('--json')
      },
    )
    await Promise.all(checked)
  })

  it('names a missing file', async () => {
    const run = await tributary(['backfill', '--key', 'k', '--json', '/nowhere/a.jsonl'])
    expect(JSON.parse(run.stderr)).toEqual({
      error: 'file_not_found',
      message: expect.stringContaining('/nowhere/a.jsonl'),
    })
  })
})

describe('tributary config', () => {
  it('shows every setting with its present value and no secret', async () => {
    const run = await tributary(['config', '--json'], { TRIBUTARY_ADMIN_TOKEN: token, TRIBUTARY_PORT: '9000' })
    const { settings } = JSON.parse(run.stdout) as { settings: { name: string; value: string | null }[] }
    const shown = (name: string) => settings.find((one) => one.name === name)?.value
    expect(shown('TRIBUTARY_PORT')).toBe('9000')
    expect(shown('TRIBUTARY_ADMIN_TOKEN')).toBe('********')
    expect(shown('TRIBUTARY_URL')).toBeNull()
    expect(run.stdout).not.toContain(token)
  })
})

describe('tributary backup', () => {
  it('says that the folder around its copy does not exist, and makes nothing', async () => {
    const folder = await emptyFolder()
    const run = await tributary(['backup', join(folder, 'none', 'copy'), '--json'], { TRIBUTARY_DATA_DIR: folder })
    expect([run.code, JSON.parse(run.stderr)]).toEqual([
      1,
      { error: 'no_parent_folder', message: expect.stringContaining(`mkdir -p ${join(folder, 'none')}`) },
    ])
    expect(await readdir(folder)).toEqual([])
  })
})

describe('tributary topics apply', () => {
  it('names missing settings, and fails when Kafka is unreachable', async () => {
    const none = await tributary(['topics', 'apply', '--json'])
    expect(none).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(none.stderr)).toEqual({
      error: 'bad_settings',
      message: expect.stringContaining('TRIBUTARY_KAFKA_BROKERS is needed'),
    })
    const away = await tributary(['topics', 'apply', '--json'], { TRIBUTARY_KAFKA_BROKERS: '127.0.0.1:1' })
    expect(away).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(away.stderr)).toMatchObject({ error: 'engine_unusable' })
  })
})

describe('tributary topics hand-over', () => {
  it('refuses a topic that is its own successor, and names missing settings', async () => {
    const words = (to: string) => ['topics', 'hand-over', '--from', 'events.accepted.v1', '--to', to, '--json']
    const same = await tributary(words('events.accepted.v1'))
    expect([same.code, JSON.parse(same.stderr).error]).toEqual([2, 'usage'])
    const none = await tributary(words('events.accepted.v2'))
    expect([none.code, JSON.parse(none.stderr).error]).toEqual([1, 'bad_settings'])
  })
})

describe('tributary migrate', () => {
  it('refuses a missing data folder, and one that another process uses', async () => {
    const folder = await emptyFolder()
    const missing = await tributary(['migrate', '--json'], { TRIBUTARY_DATA_DIR: join(folder, 'none') })
    expect(missing).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(missing.stderr)).toMatchObject({ error: 'no_data_folder' })
    const lock = lockDataDir(folder)
    onTestFinished(() => lock.release())
    const busy = await tributary(['migrate', '--json'], { TRIBUTARY_DATA_DIR: folder })
    expect(JSON.parse(busy.stderr)).toMatchObject({ error: 'data_folder_in_use' })
  })
})
