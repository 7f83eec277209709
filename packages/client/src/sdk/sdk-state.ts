import type { EventStorage } from '../storage.ts'

/** What an SDK client stores about its install, apart from events. */
export interface SdkState {
  install_uuid: string
  /** The `install_uuid` whose `app_install` is queued or sent. */
  installed: string | null
  user_id: string | null
  /** The user of the last `_user_alias`. */
  aliased: string | null
  crashed_at_ms: number | null
}

/** Loads the state. A missing or unreadable state begins a new install; `install_uuid` overrides it. */
export async function loadState(storage: EventStorage, key: string, install_uuid?: string): Promise<SdkState> {
  const stored = parse(await storage.get(key))
  const state: SdkState = {
    install_uuid: install_uuid ?? text(stored.install_uuid) ?? crypto.randomUUID(),
    installed: text(stored.installed),
    user_id: text(stored.user_id),
    aliased: text(stored.aliased),
    crashed_at_ms: typeof stored.crashed_at_ms === 'number' ? stored.crashed_at_ms : null,
  }
  // Stored before the first event carries it: a lost install_uuid would count the device as a second install.
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
