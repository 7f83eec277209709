import { setTimeout as pause } from 'node:timers/promises'
import { Client, escapeIdentifier, type Pool } from 'pg'
import type { Logger } from 'pino'

const reconnect_pause_ms = 250
const reconnect_pause_ms_max = 5_000

/** Channels of the triggers in `migrations`: companies, apps and keys; links and settings of attribution; schemas; people. */
export type ChangeChannel = 'credentials_changed' | 'attribution_changed' | 'cv_schemas_changed' | 'people_changed'

export interface ChangeListenerOptions {
  pool: Pool
  logger: Logger
  channels: readonly ChangeChannel[]
  /** Called with the company (of `people_changed`: the person) of a change, or undefined when any may have changed. */
  onChange(owner_id: string | undefined): void
}

/**
 * LISTENs to channels on a connection of its own, and reconnects for ever. Notifications that came while it
 * was away are lost, so each new connection reports that anything may have changed.
 */
export function listenForChanges({ pool, logger, channels, onChange }: ChangeListenerOptions): {
  close(): Promise<void>
} {
  const stop = new AbortController()
  const stopped = new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()))

  async function listenOnce(onListening: () => void): Promise<void> {
    const client = new Client({ ...pool.options, application_name: 'tributary-listener' })
    // 'end' follows an error too; without an 'error' listener it would end the process.
    const ended = new Promise<void>((resolve) => {
      client.on('end', resolve)
      client.on('error', () => resolve())
    })
    client.on('notification', ({ payload }) => onChange(payload === '' ? undefined : payload))
    try {
      await client.connect()
      for (const channel of channels) await client.query(`LISTEN ${escapeIdentifier(channel)}`)
      onListening()
      onChange(undefined)
      await Promise.race([ended, stopped])
    } finally {
      await client.end().catch(() => {})
    }
  }

  const running = (async () => {
    let wait_ms = reconnect_pause_ms
    while (!stop.signal.aborted) {
      try {
        await listenOnce(() => {
          wait_ms = reconnect_pause_ms
        })
        if (!stop.signal.aborted) logger.warn('the connection for changes ended: connecting again')
      } catch (error) {
        logger.warn({ err: error }, 'no connection for changes: trying again')
      }
      await pause(wait_ms, undefined, { signal: stop.signal }).catch(() => {})
      wait_ms = Math.min(wait_ms * 2, reconnect_pause_ms_max)
    }
  })()

  return {
    async close() {
      stop.abort()
      await running
    },
  }
}
