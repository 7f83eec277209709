/** The result of one check of doctor. */
export interface Check {
  name: string
  ok: boolean
  /** What the check found, in words. */
  found: string
  /** How to fix it; null when the check passed. */
  fix: string | null
}

/** A part that does not answer within this time counts as unreachable. */
export const check_ms_max = 8000

export const passed = (name: string, found: string): Check => ({ name, ok: true, found, fix: null })
export const failed = (name: string, found: string, fix: string): Check => ({ name, ok: false, found, fix })
