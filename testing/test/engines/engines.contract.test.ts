import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { describeWithOwnEngine } from '../../engines/describe-with-engine.ts'

const accepts = async (url: string) => {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

await describeWithOwnEngine('redis', (redis) => {
  it('comes back on the same address after kill -9', async () => {
    await redis.kill()
    expect(await accepts(redis.url)).toBe(false)
    await redis.restart()
    expect(await accepts(redis.url)).toBe(true)
  })

  it('ends and deletes its data when the process that opened it is killed', async () => {
    const opener = fork(join(import.meta.dirname, 'open-engine.ts'))
    const [{ url, dir }] = (await once(opener, 'message')) as [{ url: string; dir: string }]
    expect([await accepts(url), existsSync(dir)]).toEqual([true, true])
    opener.kill('SIGKILL')
    await vi.waitFor(async () => expect([await accepts(url), existsSync(dir)]).toEqual([false, false]), {
      timeout: 180_000,
      interval: 50,
    })
  })
})
