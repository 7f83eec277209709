import { lateClaimsJoiner } from '@tributary/receipt-validator/join-late-claims'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { appleTransaction } from '@tributary/testing/stores/apple-authority'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { authority, type ReceiptStage, receiptStage, t0 } from './receipt-stage.ts'

let clickhouse: TestClickhouse
let postgres: TestPostgres
beforeEach(async () => {
  await closeAll()
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
})
const closeAll = () => Promise.all([clickhouse?.close(), postgres?.close()])
afterAll(closeAll)

const sale = (event_id: string, transaction_id: string, more: object = {}) => ({
  ...{ event_id, event_name: 'purchase', event_ts_ms: t0, revenue: 5, transaction_id },
  ...more,
})
const proven = (id: string) => ({
  props: { receipt: { store: 'apple', jws: authority.sign(appleTransaction({ transactionId: id })) } },
})

/** Only event-writer reads the log. */
async function write(stage: ReceiptStage): Promise<void> {
  const writer = await stage.startWriter()
  await stage.untilRead(['event-writer'])
  await writer.close()
}
const money = async (stage: ReceiptStage) =>
  (await stage.counted()).map(({ install_uuid, event_name, amount }) => `${install_uuid} ${event_name} ${amount}`)

/** A process of the job that counts what it asks of ClickHouse. */
function joiner(stage: ReceiptStage) {
  const asked = { queries: 0, commands: 0 }
  const join = lateClaimsJoiner({
    ...stage.deps,
    clickhouse: {
      query: (...args) => {
        asked.queries += 1
        return clickhouse.query(...args)
      },
      command: (...args) => {
        asked.commands += 1
        return clickhouse.command(...args)
      },
    },
  })
  return {
    join,
    /** Requests since the last look. */
    asked() {
      const { queries, commands } = asked
      Object.assign(asked, { queries: 0, commands: 0 })
      return { queries, commands }
    },
  }
}

test('what a backend and an SDK say of a transaction after its verdict loses within one run, whatever its name', async () => {
  const stage = await receiptStage({ clickhouse, postgres })
  await stage.send('i-1', 'sdk', [sale('1', '101', proven('101'))])
  await stage.run()
  const { join } = joiner(stage)
  expect(await join()).toBe(0)
  await stage.send('i-1', 's2s', [sale('2', '101', { revenue: 7 })])
  await stage.send('i-2', 'sdk', [sale('3', '101', { event_name: 'coins' }), sale('4', '102')])
  await write(stage)
  expect(await money(stage)).toHaveLength(4)
  expect(await join()).toBe(1)
  const expected = ['i-1 purchase 4.99', 'i-2 purchase 5']
  expect(await money(stage)).toEqual(expected)
  await stage.send('i-3', 'bulk', [sale('5', '101', { event_name: 'gold' })])
  await write(stage)
  expect(await join()).toBe(1)
  expect(await money(stage)).toEqual(expected)
})

test('a refund of a backend that comes after the one of the store loses too', async () => {
  const stage = await receiptStage({ clickhouse, postgres })
  await stage.send('i-1', 'sdk', [sale('1', '101', proven('101'))])
  await stage.send('i-1', 'store', [sale('2', '101', { event_name: 'purchase_refunded', revenue: 4.99 })])
  await stage.run()
  await stage.send('i-1', 's2s', [sale('3', '101', { event_name: 'purchase_refunded', revenue: 5 })])
  await write(stage)
  await joiner(stage).join()
  expect(await money(stage)).toEqual(['i-1 purchase 4.99', 'i-1 purchase_refunded -4.99'])
})

test('a refund of the store counts once its charge comes, be that late and of a backend', async () => {
  const stage = await receiptStage({ clickhouse, postgres })
  await stage.send('i-1', 'store', [sale('1', '101', { event_name: 'purchase_refunded' })])
  await stage.run()
  const { join } = joiner(stage)
  await join()
  expect(await money(stage)).toEqual([])
  await stage.send('i-1', 's2s', [sale('2', '101')])
  await write(stage)
  await join()
  expect(await money(stage)).toEqual(['i-1 purchase 5', 'i-1 purchase_refunded -5'])
})

test('transactions that nobody joined cost no choice, nor does one twice that was joined', async () => {
  const stage = await receiptStage({ clickhouse, postgres })
  await stage.send(
    'i-1',
    'sdk',
    Array.from({ length: 20 }, (_, n) => sale(`${n}`, `${n}`, proven(`${n}`))),
  )
  await stage.send(
    'i-2',
    's2s',
    Array.from({ length: 20 }, (_, n) => sale(`${n}`, `other-${n}`)),
  )
  await stage.run()
  const { join, asked } = joiner(stage)
  expect([await join(), asked()]).toEqual([0, { queries: 2, commands: 0 }])
  expect([await join(), asked()]).toEqual([0, { queries: 2, commands: 0 }])
  await stage.send('i-2', 's2s', [sale('x', '7')])
  await write(stage)
  expect(await join()).toBe(1)
  expect(asked().commands).toBeGreaterThan(0)
  expect([await join(), asked()]).toEqual([0, { queries: 2, commands: 0 }])
  // A process that starts writes once more what it finds: a kill may have lost the stamps.
  const other = joiner(stage)
  expect(await other.join()).toBe(1)
  expect(other.asked().commands).toBeGreaterThan(0)
  expect([await other.join(), other.asked().commands]).toEqual([0, 0])
})

test('a claim that came while nobody ran the job for days loses too', async () => {
  const stage = await receiptStage({ clickhouse, postgres })
  await stage.send('i-1', 'sdk', [sale('1', '101', proven('101'))])
  await stage.run()
  await stage.send('i-1', 's2s', [sale('2', '101', { revenue: 7 })])
  await write(stage)
  const days_ms = 2 * 86_400_000
  await clickhouse.command(
    `ALTER TABLE transaction_claims_v1 UPDATE written_at_ms = written_at_ms - ${days_ms} WHERE app_id = '${stage.app_id}' SETTINGS mutations_sync = 2`,
  )
  // Another app has newer rows.
  const other = await receiptStage({ clickhouse, postgres })
  await other.send('i-1', 's2s', [sale('3', '102')])
  await write(other)
  await postgres.pool.query('UPDATE joined_claims SET until_ms = until_ms - $1', [days_ms + 3_600_000])
  await joiner(stage).join()
  expect(await money(stage)).toEqual(['i-1 purchase 4.99'])
})

test('a run that failed is done by the next one', async () => {
  const stage = await receiptStage({ clickhouse, postgres })
  await stage.send('i-1', 'sdk', [sale('1', '101', proven('101'))])
  await stage.run()
  let fails = true
  const join = lateClaimsJoiner({
    ...stage.deps,
    clickhouse: {
      ...clickhouse,
      command: async (...args) => {
        if (fails) throw new Error('away')
        return clickhouse.command(...args)
      },
    },
  })
  await join()
  await stage.send('i-1', 's2s', [sale('2', '101')])
  await write(stage)
  await expect(join()).rejects.toThrow('away')
  fails = false
  await join()
  expect(await money(stage)).toEqual(['i-1 purchase 4.99'])
})
