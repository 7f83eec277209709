import { z } from 'zod'
import type { Platform } from '../event/envelope.ts'
import { limits } from '../limits.ts'

const whole = (max: number) => z.number().int().min(1).max(max)

/** How an app matches clicks with installs (docs/rules.md#attribution-settings). */
export const AttributionSettings = z.object({
  click_window_hours: whole(limits.click_window_hours_max).describe(
    'How long after a click an install may come from it, unless the link says otherwise.',
  ),
  probabilistic: z.boolean().describe('Match by address, system and model too.'),
  probabilistic_window_hours: whole(limits.click_window_hours_max).describe('The same window for such a match.'),
  reinstall_days: whole(limits.reinstall_days_max).describe(
    'How long after an install of the same device or user another one is a reinstall.',
  ),
})
export type AttributionSettings = z.infer<typeof AttributionSettings>

/** The settings of an app that was never given any. */
export const defaultAttributionSettings = (platform: Platform): AttributionSettings => ({
  click_window_hours: 7 * 24,
  probabilistic: platform === 'android',
  probabilistic_window_hours: 24,
  reinstall_days: 90,
})
