import { argon2Sync } from 'node:crypto'
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { HashOrder } from './hash-threads.ts'

/** Whoever signs in waits for events and reports, not they for the hash: at equal priority it takes half of two cores. */
const nice = 10

// Linux takes the id of a thread here. Elsewhere the thread keeps its priority.
try {
  setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), nice)
} catch {}

parentPort?.on('message', (order: HashOrder) => parentPort?.postMessage(argon2Sync('argon2id', order)))
