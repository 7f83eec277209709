import { hash } from 'node:crypto'

/**
 * The first four bytes of SHA-256, modulo the number of partitions. It replaces the partitioner of the client library: every producer, in
 * any language, must compute the same for ever.
 */
const partitionOf = (text: string, partitions: number): number =>
  // As text: a digest as a Buffer costs Node five times as much.
  Number.parseInt(hash('sha256', text).slice(0, 8), 16) % partitions

/** Partition of everything about one install, by `app_id` 0x00 `install_uuid`. */
export const installPartition = (app_id: string, install_uuid: string, partitions: number): number =>
  partitionOf(`${app_id}\0${install_uuid}`, partitions)

/** Partition of a postback, by the key of its record (contracts/src/postback/received.ts). */
export const postbackPartition = (key: string, partitions: number): number => partitionOf(key, partitions)

/** Partition of the notifications about one purchase, by `app_id` 0x00 original id (contracts/src/receipt/store-notified.ts). */
export const purchasePartition = (app_id: string, original_id: string, partitions: number): number =>
  partitionOf(`${app_id}\0${original_id}`, partitions)

/** Partition of everything about one app, on `installs.found.v1`. */
export const appPartition = (app_id: string, partitions: number): number => partitionOf(app_id, partitions)
