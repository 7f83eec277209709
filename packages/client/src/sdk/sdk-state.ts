import type { EventStorage } from '../storage.ts'

/** What an SDK client remembers of its install besides the events. */
export interface SdkState {
  install_uuid: string
  /** The `install_uuid` whose `app_install` is on its way or sent. */
  installed: string | null
  user_id: string | null
  /** The last user that a `_user_alias` was made for. */
  aliased: string | null
  crashed_at_ms: number | null
}

/** The stored state. Without one, or with one that can't be read, a new install begins; `install_uuid` overrides. */
export async function loadState(storage: EventStorage, key: string, install_uuid?: string): Promise<SdkState> {
  const stored = parse(await storage.get(key))
  const state: SdkState = {
    install_uuid: install_uuid ?? text(stored.install_uuid) ?? crypto.randomUUID(),
    installed: text(stored.installed),
    user_id: text(stored.user_id),
    aliased: text(stored.aliased),
    crashed_at_ms: typeof stored.crashed_at_ms === 'number' ? stored.crashed_at_ms : null,
  }
  // Before the first event carries it: an install_uuid that is forgotten would make a second install of one device.
  if (state.install_uuid !== stored.install_uuid) await storage.set(key, JSON.stringify(state))
  return state
}

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

function parse(json: string | null): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json ?? '{}')
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
