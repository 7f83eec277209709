/** Meaning of each `conversion-type` of AdAttributionKit. */
export const conversionTypes: ReadonlyMap<string, { redownload: boolean | null; re_engagement: boolean }> = new Map([
  ['download', { redownload: false, re_engagement: false }],
  ['redownload', { redownload: true, re_engagement: false }],
  ['re-engagement', { redownload: null, re_engagement: true }],
])
