/**
 * Name of the lock of PostgreSQL under which retention deletes raw events, and the eraser does each of its steps. An erasure that began
 * meanwhile would take the missing events of a new life for those of the old one.
 */
export const raw_events_lock = 'raw-events'

/** Name of the lock of PostgreSQL under which retention runs. A row that is written anew must not bring back an address meanwhile. */
export const retention_lock = 'retention'
