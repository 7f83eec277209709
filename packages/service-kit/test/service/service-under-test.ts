import { Writable } from 'node:stream'
import type { Service } from '@tributary/service-kit/service/run-service'
import pino from 'pino'
import { Registry } from 'prom-client'

/** What `runService` hands to a start, with all that it logs, at the lowest level and without redaction. */
export function serviceUnderTest() {
  const lines: string[] = []
  const sink = new Writable({
    write(line, _encoding, done) {
      lines.push(String(line))
      done()
    },
  })
  const closes: (() => Promise<void>)[] = []
  const service: Service = {
    name: 'test',
    logger: pino({ level: 'trace' }, sink),
    registry: new Registry(),
    now: Date.now,
    elapsed: () => performance.now(),
    onClose: (_what, close) => closes.push(close),
    checks: {},
    troubles: [],
    endNow(error) {
      throw error
    },
  }
  return {
    service,
    logged: () => lines.join(''),
    async close() {
      for (const close of closes.splice(0).reverse()) await close()
    },
  }
}

/** The error that `work` rejects with; fails when it does not. */
export async function refusalOf(work: Promise<unknown>): Promise<Error> {
  const error = await work.then(
    () => null,
    (reason: Error) => reason,
  )
  if (error === null) throw new Error('nothing was refused')
  return error
}
