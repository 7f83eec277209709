// Made by `npm run dump`: do not edit.
export const limits = {
  "report_limit_max": 1000,
  "report_window_days_max": 365,
  "find_chars_max": 256,
  "password_chars_min": 12,
  "live_events_per_s_max": 50
} as const
