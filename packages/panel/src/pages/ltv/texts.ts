export const texts = {
  title: 'Revenue per install, by day since the install',
  help: 'Money that the installs of these days brought, by partner. The dashed line is the cost per install of the partners with cost: a curve above it has earned its money back.',
  cost: (text: string) => `Cost per install ${text}`,
  day: (n: string) => `Day ${n}`,
  young: 'No install of these days is a day old yet.',
  none: 'No installs in these days.',
  immature: 'Each point is of the installs for which that day is over.',
} as const
