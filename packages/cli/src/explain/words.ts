import type { FraudFlag, LostReason, Method } from '@tributary/contracts/attribution/verdict'

/** How a click and an install were matched, after "by". */
export const methodNames: Record<Method, string> = {
  install_referrer: 'the Play Store referrer',
  click_id: 'the click id in the app',
  device_id: 'the device id',
  probabilistic: 'address and OS version',
}

/** Why a match by a method is believed. */
export const methodReasons: Record<Method, string> = {
  install_referrer: 'The Play Store handed the app the signed click id of this click.',
  click_id: 'The app was opened by a link that carried the id of this click.',
  device_id: 'The click and the install carry the same device id.',
  probabilistic:
    'The click and the install came from the same IP address with the same OS version, and only this partner has such a click.',
}

/** Why a click lost, where the reason needs no other facts. */
export const lostReasons: Record<Exclude<LostReason, 'weaker_method' | 'unknown_click'>, string> = {
  older_click: 'a later click won. The latest click before the install counts.',
  outside_window: 'it came too long before the install for its window. A link may set a window of its own.',
  after_install: 'it came after the install.',
  click_already_used: 'an earlier install has this click. A click brings one install.',
  ambiguous: 'clicks of several partners match equally well, so none of them can be believed.',
  filtered: 'it was filtered out when it came. Such a click never brings an install.',
  bad_signature: 'the app named it with a wrong signature, so the click id is forged.',
  unsigned: 'the referrer named it without a signature. Anybody can write such a referrer.',
}

/** Meaning of each fraud flag. */
export const flagMeanings: Record<FraudFlag, string> = {
  click_after_install: 'The Play Store began the install before the click. The click was injected.',
  fast_install: 'The install came less than 10 seconds after the click. No person is that fast.',
  click_flooding: 'The source sent very many clicks that day, and very few of them became installs.',
  datacenter_ip: 'The install came from the network of a data center, where no phones are.',
  blocked_ip: 'The same address opened a trap link in the 24 hours before the install.',
  forged_click: 'The app named a click with a wrong signature. The install is organic, whatever else matches.',
  install_burst: 'More than 20 installs came from the same small network within an hour.',
  crowded_device: 'At least 50 installs of 90 days named the same device, user or click before it.',
}
