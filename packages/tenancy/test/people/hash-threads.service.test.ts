import { expect, test } from 'vitest'
import { openHashThreads } from '../../src/people/passwords/hash-threads.ts'

const order = {
  message: Buffer.from('a'),
  nonce: Buffer.alloc(16),
  parallelism: 1,
  tagLength: 32,
  memory: 64,
  passes: 1,
}

test('a hash that cannot be made is rejected, and those after it are made', async () => {
  const derive = openHashThreads()
  const first = await derive(order)
  for (let n = 0; n < 2; n += 1) {
    await expect(derive({ ...order, passes: 0 })).rejects.toThrow()
    expect(await derive(order)).toEqual(first)
  }
})

test('a thread that ends while it works holds nobody up', async () => {
  const derive = openHashThreads({ execArgv: ['--import', 'data:text/javascript,process.exit(3)'] })
  await expect(derive(order)).rejects.toThrow()
})
