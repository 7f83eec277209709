import { openPostgres } from '@tributary/postgres/postgres'
import { expect, it } from 'vitest'
import { describeWithOwnEngine } from '../../engines/describe-with-engine.ts'

await describeWithOwnEngine('postgres', (postgres) => {
  const open = () =>
    openPostgres({ url: postgres.url, pool_max: 2, statement_timeout_ms: 500, connect_timeout_ms: 500 })

  it('keeps committed rows over kill -9, and answers nothing while it is paused', async () => {
    const pool = open()
    await pool.query('CREATE TABLE kept (a int)')
    await pool.query('INSERT INTO kept VALUES (1)')

    await postgres.pause()
    await expect(pool.query('SELECT a FROM kept')).rejects.toThrow() // a connection that was open before
    await expect(pool.query('SELECT a FROM kept')).rejects.toThrow()
    postgres.resume()
    await expect.poll(() => pool.query('SELECT a FROM kept').then(({ rows }) => rows, String)).toEqual([{ a: 1 }])

    await postgres.kill()
    await expect(pool.query('SELECT a FROM kept')).rejects.toThrow()
    await postgres.restart()
    expect((await pool.query('SELECT a FROM kept')).rows).toEqual([{ a: 1 }])
    await pool.end()
  })
})
