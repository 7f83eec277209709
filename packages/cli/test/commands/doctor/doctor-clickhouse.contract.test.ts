import { readStatements } from '@tributary/clickhouse/schema/statements'
import { describeWithEngine } from '@tributary/testing/engines/describe-with-engine'
import { afterEach, expect, it, vi } from 'vitest'
import { tryClickhouse } from '../../../src/examine/try-clickhouse.ts'

afterEach(() => void vi.unstubAllEnvs())

await describeWithEngine('clickhouse', (engine) => {
  const databases = async () => (await fetch(`${engine.url}/?query=SHOW+DATABASES`)).text()

  it('finds that a server takes all that Tributary sends, and counts a repeated insert once, and leaves nothing there', async () => {
    vi.stubEnv('TRIBUTARY_CLICKHOUSE_URL', `${engine.url}/tributary`)
    const before = await databases()
    const checks = await tryClickhouse()
    expect(checks.filter(({ ok }) => !ok)).toEqual([])
    expect(checks.map(({ name }) => name)).toEqual([
      'clickhouse schema',
      'clickhouse exactly once',
      'clickhouse statements',
    ])
    expect(await databases()).toBe(before)
  })

  it('names each statement that a server does not take, and who sends it', async () => {
    vi.stubEnv('TRIBUTARY_CLICKHOUSE_URL', `${engine.url}/tributary`)
    const event = readStatements().filter(({ sql }) => sql.startsWith('INSERT INTO events_raw_v1 '))
    const checks = await tryClickhouse([
      ...event,
      { by: 'services/report-api/src/one.ts', kind: 'query', sql: 'SELECT noSuchFunction(1)' },
      { by: 'services/report-api/src/two.ts', kind: 'query', sql: 'SELECT 1' },
    ])
    const failed = checks.filter(({ ok }) => !ok)
    expect(failed.map(({ name }) => name)).toEqual(['clickhouse: services/report-api/src/one.ts'])
    expect(failed[0]?.found).toContain('noSuchFunction')
    expect(checks[1]).toMatchObject({ name: 'clickhouse exactly once', ok: true })
  })

  it('names a database that a killed run has left', async () => {
    vi.stubEnv('TRIBUTARY_CLICKHOUSE_URL', `${engine.url}/tributary`)
    const send = (sql: string) => fetch(engine.url, { method: 'POST', body: sql })
    await send('CREATE DATABASE tributary_doctor_left')
    try {
      const checks = await tryClickhouse(
        readStatements().filter(({ sql }) => sql.startsWith('INSERT INTO events_raw_v1 ')),
      )
      expect(checks.filter(({ ok }) => !ok)).toMatchObject([{ fix: 'DROP DATABASE tributary_doctor_left' }])
    } finally {
      await send('DROP DATABASE tributary_doctor_left')
    }
  })
})
