import { CodedError } from '@tributary/contracts/errors'
import type { Gate } from '@tributary/service-kit/service/disk-watch'
import type { FastifyInstance } from 'fastify'
import { closeIfEndless } from './in-flight.ts'

/** Freeing a disk takes a person, so clients come back less often. */
const retry_after_s = '10'

/**
 * Answers 503 `unavailable` while the disk is full, before the body is read. Requests whose body has arrived already are
 * still accepted: the space that is kept free includes them.
 */
export function refuseWhenFull(app: FastifyInstance, disk: Pick<Gate, 'open'>): void {
  const refusal = new CodedError('unavailable', {
    message: 'The disk is full.',
    headers: { 'retry-after': retry_after_s },
  })
  app.addHook('onRequest', (request, reply, done) => {
    if (disk.open() || request.method === 'OPTIONS') return done()
    closeIfEndless(request, reply)
    done(refusal)
  })
}
