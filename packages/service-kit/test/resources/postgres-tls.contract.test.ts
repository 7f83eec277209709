import { chmod, chown, copyFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openPostgres } from '@tributary/postgres/postgres'
import { openPostgresServer, postgresSettings, requirePostgresSchema } from '@tributary/service-kit/resources/postgres'
import { readSettings } from '@tributary/service-kit/settings/read-settings'
import { StartRefused } from '@tributary/service-kit/settings/start-refused'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { openOwnEngine } from '@tributary/testing/engines/open-engine'
import { expect, it } from 'vitest'
import { refusalOf, serviceUnderTest } from '../service/service-under-test.ts'
import { startWithTls } from './start-with-tls.ts'

/** PostgreSQL that is called localhost and lets nobody in without TLS. */
const startTlsPostgres = () =>
  startWithTls(async (files) => {
    const postgres = await openOwnEngine('postgres')
    const pool = openPostgres({ url: postgres.url, pool_max: 1, statement_timeout_ms: 5000, connect_timeout_ms: 5000 })
    const data_dir: string = (await pool.query('SHOW data_directory')).rows[0].data_directory
    const { uid, gid } = await stat(data_dir)
    const place = async (file: string, name: string) => {
      await copyFile(file, join(data_dir, name))
      await chmod(join(data_dir, name), 0o600) // the server takes no key that others can read
      await chown(join(data_dir, name), uid, gid)
    }
    await Promise.all([place(files.key, 'server.key'), place(files.cert, 'server.crt')])
    await writeFile(join(data_dir, 'pg_hba.conf'), 'hostssl all all all scram-sha-256\n')
    await pool.query('ALTER SYSTEM SET ssl = on')
    await pool.query('SELECT pg_reload_conf()')
    await pool.end()
    return { ...postgres, address: new URL(postgres.url.replace('127.0.0.1', 'localhost')) }
  })

await describeWith('postgres with TLS', startTlsPostgres, ({ files, address }) => {
  function open(query: Record<string, string>, change: { hostname?: string; password?: string } = {}) {
    const tested = serviceUnderTest()
    const url = Object.assign(new URL(address), change, { search: new URLSearchParams(query) })
    const config = readSettings({ TRIBUTARY_POSTGRES_URL: url.href }, postgresSettings, ['TRIBUTARY_POSTGRES_URL'])
    return { ...tested, pool: openPostgresServer(config, tested.service) }
  }

  it('talks over TLS to a server whose name and authority are right', async () => {
    const { pool, close, service } = open({ sslmode: 'verify-full', sslrootcert: files.ca })
    await service.checks.database!()
    const { rows } = await pool.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')
    expect(rows).toEqual([{ ssl: true }])
    await close()
  })

  const checked = { sslmode: 'verify-full', sslrootcert: files?.ca }
  it.each([
    ['an authority that did not sign', { ...checked, sslrootcert: files?.other_ca }, {}, /unable to verify/],
    ['an authority that Node does not know', { sslmode: 'verify-full' }, {}, /unable to verify/],
    ['an authority file that is not there', { ...checked, sslrootcert: `${files?.ca}.gone` }, {}, /ENOENT/],
    ['a name that is not in the certificate', checked, { hostname: '127.0.0.1' }, /altnames/],
    ['no TLS where the server wants it', { sslmode: 'disable' }, {}, /no encryption/],
    ['a wrong password', checked, { password: 'this-is-not-it' }, /password authentication failed/],
  ])('refuses to start in one line: %s', async (_name, query, change, reason) => {
    const { pool, close, logged } = open(query, change)
    const refusal = await refusalOf(requirePostgresSchema(pool))
    await close()
    expect(refusal).toBeInstanceOf(StartRefused)
    expect(refusal.message).toMatch(/^PostgreSQL can't be used: [^\n]+TRIBUTARY_POSTGRES_URL[^\n]+$/)
    expect(refusal.message).toMatch(reason)
    for (const secret of [address.password, 'this-is-not-it']) {
      expect(`${refusal.stack}${logged()}`).not.toContain(secret)
    }
  })
})
