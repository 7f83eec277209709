import { CodedError } from '@tributary/contracts/errors'
import { closeIfEndless } from '@tributary/door/in-flight'
import type { Gate } from '@tributary/service-kit/service/disk-watch'
import type { FastifyInstance } from 'fastify'

/** Freeing a disk takes a person, so a client need not look each second. */
const retry_after_s = '10'

/**
 * Answers 503 `unavailable` before the body is read while the disk is full. Requests whose body is here already are
 * still taken: the space that is kept free includes them.
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
