import { hash } from 'node:crypto'

/**
 * Partition of everything about one install: the first four bytes of SHA-256(`app_id` 0x00 `install_uuid`), modulo the
 * number of partitions. Ours, not the client library's: every producer, in any language, must agree for ever.
 */
export function installPartition(app_id: string, install_uuid: string, partitions: number): number {
  return hash('sha256', `${app_id}\0${install_uuid}`, 'buffer').readUInt32BE(0) % partitions
}

/** Partition of a postback, by the key of its record (contracts/src/postback/received.ts); ours for the same reason. */
export const postbackPartition = (key: string, partitions: number): number =>
  hash('sha256', key, 'buffer').readUInt32BE(0) % partitions

/** Partition of everything about one app, on `installs.found.v1`; ours for the same reason. */
export const appPartition = (app_id: string, partitions: number): number =>
  hash('sha256', app_id, 'buffer').readUInt32BE(0) % partitions
