/** One thing that doctor looked at. */
export interface Check {
  name: string
  ok: boolean
  /** What is there, in words. */
  found: string
  /** What to do about it; null when it is well. */
  mend: string | null
}

/** What has not answered by then is away. */
export const check_ms_max = 8000

export const passed = (name: string, found: string): Check => ({ name, ok: true, found, mend: null })
export const failed = (name: string, found: string, mend: string): Check => ({ name, ok: false, found, mend })
