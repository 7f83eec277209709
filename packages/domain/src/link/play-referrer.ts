/** The values that a link puts into the referrer of the Play store. */
export interface PlayReferrer {
  partner: string
  /** Left out where null. */
  campaign: string | null
  /** See `signClickId`. */
  token: string
}

/** Page of the app in the Play store; values are encoded inside the referrer, then the referrer as a whole. */
export function playStoreUrl(bundle_id: string, referrer?: PlayReferrer): string {
  const page = `https://play.google.com/store/apps/details?id=${encode(bundle_id)}`
  if (referrer === undefined) return page
  const fields = { utm_source: referrer.partner, utm_campaign: referrer.campaign, tb_click: referrer.token }
  const text = Object.entries(fields).flatMap(([name, value]) => (value === null ? [] : `${name}=${encode(value)}`))
  return `${page}&referrer=${encode(text.join('&'))}`
}

/** Never throws: a text with a lone surrogate is made well-formed. */
const encode = (text: string): string => encodeURIComponent(text.toWellFormed())

/** The `tb_click` of an install referrer as Play gives it to an app; null without one. */
export const tokenOfReferrer = (referrer: string): string | null => new URLSearchParams(referrer).get('tb_click')
