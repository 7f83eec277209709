// Made by `npm run dump`: do not edit.
export const limits = {
  "report_limit_max": 1000,
  "report_window_days_max": 365,
  "find_chars_max": 256,
  "password_chars_min": 12,
  "live_events_per_s_max": 50,
  "costs_max": 1000,
  "view_name_chars_max": 60,
  "note_chars_max": 200,
  "keep_days_max": 3650,
  "keep_click_days_max": 90,
  "click_window_hours_max": 720,
  "reinstall_days_max": 3650
} as const
