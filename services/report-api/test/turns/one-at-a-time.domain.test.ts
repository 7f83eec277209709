import { EventEmitter } from 'node:events'
import { limits } from '@tributary/contracts/limits'
import type { FastifyReply } from 'fastify'
import { expect, test } from 'vitest'
import { oneAtATime } from '../../src/turns/one-at-a-time.ts'
import type { RunInTurn } from '../../src/turns/run-in-turn.ts'

test('a person takes one turn at a time, those who wait behind it are few, and nobody else waits for it', async () => {
  const turns: { key_id: string; end(): void }[] = []
  const runInTurn: RunInTurn = ({ key_id }, reply, work) =>
    new Promise((resolve) => {
      turns.push({ key_id, end: () => resolve(work(reply as never)) })
    })
  const run = oneAtATime(runInTurn)
  const find = (key_id: string, raw = new EventEmitter()) =>
    run({ company_id: 'co', key_id }, { raw } as unknown as FastifyReply, async () => 'found')
  const leaving = new EventEmitter()
  const [first, left] = [find('ada'), find('ada', leaving)]
  const others = Array.from({ length: limits.finds_waiting_max - 1 }, () => find('ada'))
  await expect(find('ada')).rejects.toMatchObject({ code: 'rate_limited' })
  const ben = find('ben')
  await new Promise(setImmediate)
  expect(turns.map(({ key_id }) => key_id)).toEqual(['ada', 'ben'])
  leaving.emit('close')
  await expect(left).rejects.toMatchObject({ code: 'unavailable' })
  for (let n = 0; n < turns.length; n += 1) {
    turns[n]!.end()
    await new Promise(setImmediate)
  }
  expect(await Promise.all([first, ben, ...others])).toHaveLength(2 + others.length)
  expect(turns).toHaveLength(2 + others.length)
})
