/** What a link puts into the referrer of the Play store. */
export interface PlayReferrer {
  partner: string
  /** Left out where null. */
  campaign: string | null
  /** See `signClickId`. */
  token: string
}

/** Page of the app in the Play store; values are encoded inside the referrer, then the referrer as a whole. */
export function playStoreUrl(bundle_id: string, referrer?: PlayReferrer): string {
  const page = `https://play.google.com/store/apps/details?id=${encodeURIComponent(bundle_id)}`
  if (referrer === undefined) return page
  const fields = { utm_source: referrer.partner, utm_campaign: referrer.campaign, tb_click: referrer.token }
  const given = Object.entries(fields).filter(([, value]) => value !== null)
  const text = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value).toWellFormed())}`)
  return `${page}&referrer=${encodeURIComponent(text.join('&'))}`
}

/** The `tb_click` of an install referrer as Play gives it to an app; null without one. */
export const tokenOfReferrer = (referrer: string): string | null => new URLSearchParams(referrer).get('tb_click')
