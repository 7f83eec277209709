/** The facts about a device in a user agent. */
export interface Agent {
  platform: 'android' | 'ios' | 'desktop'
  /** Null when it is not in the agent. */
  os_major: number | null
  /** Name that the device's own API gives (`Pixel 8 Pro`, `SM-S911B`); null when the agent has none. */
  model: string | null
}

/** A longer text does not count as a model. */
const model_chars_max = 64
const desktop: Agent = { platform: 'desktop', os_major: null, model: null }

/**
 * Reads a user agent (docs/rules.md#tracking-links). Anything but an Android or iOS device counts as desktop, and so does an
 * iPad that calls itself a Macintosh.
 */
export function readAgent(text: string): Agent {
  if (/Windows Phone/i.test(text)) return desktop // it names Android and iPhone too
  if (/\b(?:iPhone|iPad|iPod)\b/.test(text)) return { platform: 'ios', os_major: iosMajor(text), model: null }
  return /\bAndroid\b/i.test(text) ? androidAgent(text) : desktop
}

/** Since Safari 26 the agent says iOS 18 for ever, and the version of Safari alone is true. */
const frozen_ios_major = 18

function iosMajor(text: string): number | null {
  const os = majorOf(/\bOS (\d{1,3})[_.]/.exec(text))
  const safari = majorOf(/\bVersion\/(\d{1,3})\./.exec(text))
  return os === frozen_ios_major && safari !== null && safari > os ? safari : os
}

/**
 * `(Linux; Android 14; Pixel 8 Build/UD1A; wv)`, `(Linux; U; Android 4.4.2; de-de; SM-T530 Build/KOT49H)`,
 * `(Android 13; Mobile; rv:109.0)`. Chrome's reduced agent says `Android 10; K` on every phone.
 */
function androidAgent(text: string): Agent {
  const [, version, rest = ''] = /\bAndroid(?: (\d{1,3})(?:[.\d]*))?((?:;[^;()]*)*)/i.exec(text) ?? []
  const [first = '', second = ''] = rest
    .split(';')
    .slice(1)
    .map((part) => part.trim())
  const named = /^[a-z]{2}(?:[-_][a-z]{2,4})?$/i.test(first) && second !== '' ? second : first
  if (named === 'K') return { platform: 'android', os_major: null, model: null }
  return { platform: 'android', os_major: version === undefined ? null : Number(version), model: modelOf(named) }
}

const noModel = /^(?:mobile|tablet|wv|u|k|rv:.*|)$/i

function modelOf(named: string): string | null {
  const build = named.indexOf('Build/')
  const model = (build === -1 ? named : named.slice(0, build)).replace(/^SAMSUNG /, '').trim()
  return noModel.test(model) || model.length > model_chars_max ? null : model
}

const majorOf = (found: RegExpExecArray | null): number | null => (found === null ? null : Number(found[1]))
