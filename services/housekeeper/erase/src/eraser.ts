import { consumers } from '@tributary/contracts/consumers'
import { ErasureRequest } from '@tributary/contracts/erasure'
import { queueErasures } from '@tributary/erasure/queue-erasures'
import { type ConsumerDefinition, defineConsumer } from '@tributary/service-kit/consumer/define-consumer'
import type { MasterKeys } from '@tributary/tenancy/secrets/master-keys'
import type { Pool } from 'pg'

/** Requests of a batch; each costs an HMAC. */
const batch_records_max = 1000
const batch_bytes_max = 4 * 1024 * 1024
/** Size of a record, about. */
const record_bytes = 300
/** Maximum time that a request waits for others of its batch. */
const linger_ms = 200

/**
 * Queues the requests of the topic. A record that comes again is known by its time, and changes nothing
 * (docs/decisions/erasure.md#a-request-is-known-by-its-time).
 */
export const eraser = ({
  postgres: pool,
  masterKeys,
}: {
  postgres: Pool
  masterKeys: MasterKeys
}): ConsumerDefinition<ErasureRequest> =>
  defineConsumer<ErasureRequest>({
    ...consumers.eraser,
    fetch: { wait_ms_max: linger_ms },
    bounds: {
      ...{ rows_max: batch_records_max, bytes_max: batch_bytes_max },
      measure: () => ({ rows: 1, bytes: record_bytes }),
    },
    decode: ({ value }) => ErasureRequest.parse(JSON.parse(value.toString())),
    async handle(batch) {
      const asked = batch.records.map(({ value: { app_id, install_uuid, requested_at_ms } }) => ({
        ...{ app_id, install_uuid, requested_at_ms, asked_by: 'sdk' as const },
      }))
      const left = await queueErasures({ pool, masterKeys }, asked)
      batch.records.forEach(({ record }, n) => {
        const reason = left.get(asked[n]!)
        if (reason !== undefined) batch.dead(record, reason)
      })
      batch.written(asked.length - left.size)
    },
  })
