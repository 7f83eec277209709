import type { TombstoneStore } from '@tributary/domain/erasure/tombstones'
import type { Resource } from '@tributary/service-kit/resources/resource'
import type { MasterKeys } from '@tributary/tenancy/secrets/master-keys'
import type { Pool } from 'pg'
import { noteErasedObjects } from './audit/erased-objects.ts'
import { openTombstones } from './tombstones/tombstones.ts'

/** Tombstones and notes for consumers that drop records as erased. */
export interface ErasedRecords extends TombstoneStore {
  /** Has the next erasure rewrite the audit objects of what was dropped; durable when it resolves. */
  noteObjects(app_id: string, audit_keys: Iterable<string>): Promise<void>
}

/** Tombstones over PostgreSQL, one memory for all consumers of a process. */
export const erasedRecordsResource: Resource<ErasedRecords, never, never, { postgres: Pool; masterKeys: MasterKeys }> =
  {
    settings: [],
    required: [],
    on: ['postgres', 'masterKeys'],
    async open(_config, _service, { postgres: pool, masterKeys }) {
      return {
        ...openTombstones({ pool, masterKeys }),
        noteObjects: (app_id, audit_keys) => noteErasedObjects(pool, app_id, audit_keys),
      }
    },
  }
