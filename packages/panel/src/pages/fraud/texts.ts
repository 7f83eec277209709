import type { Output } from '../../api/call.ts'

type Filtered = Output<'getFraud'>['clicks'][number]['reason']

/** What each flag means (docs/rules.md#fraud-flags). */
const flags: Record<string, string> = {
  click_after_install: "Google Play's servers saw the click after the install began.",
  fast_install: 'Less than 10 s from the click to the install.',
  click_flooding: 'The campaign sent far more clicks than others for each install on the day of the click.',
  datacenter_ip: 'The address belongs to a hosting provider.',
  blocked_ip: 'A honeypot of the company was hit from the address in the day before.',
  forged_click: 'The click id is ours, its signature is not.',
  install_burst: 'Many installs came from the same network within the hour.',
  crowded_device: 'A device, user or click id of it belongs to too many installs.',
}

const filtered: Record<Filtered, string> = {
  bot: 'The agent is a bot.',
  datacenter: 'The address belongs to a hosting provider.',
  country: 'The link does not allow the country.',
  honeypot: 'The link catches bots: no person sees it.',
  honeypot_embed: 'A page that embeds a honeypot sent it.',
  desktop: 'It came from a desktop.',
  platform_mismatch: 'It came from another platform than that of the app.',
}

export const texts = {
  title: 'Flagged installs by partner',
  help: 'A flagged install counts like any other; here they are counted apart. A partner opens its flagged installs.',
  partner: 'Partner',
  installs: 'Installs',
  flagged: 'Flagged',
  all: 'All partners',
  share: 'Share',
  flag: 'Flag',
  means: 'What it means',
  open: (partner: string) => `Flagged installs of ${partner}`,
  byFlag: 'By partner and flag',
  byFlagHelp: 'An install with two flags is in two rows. Reinstalls are in these rows too.',
  clicks: 'Filtered clicks',
  clicksHelp: 'Clicks that attribute nothing, by partner and reason. Clicks themselves are kept for a time only.',
  reason: 'Reason',
  none: 'No flagged installs in these days.',
  noInstalls: 'No installs in these days.',
  noClicks: 'No filtered clicks in these days.',
  flags,
  filtered,
} as const
