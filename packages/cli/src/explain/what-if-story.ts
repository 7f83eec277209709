import type { WhatIf, WhatIfMove, WhatIfSide } from '@tributary/contracts/admin/rows/what-if'
import type { Method } from '@tributary/contracts/attribution/verdict'
import { printable, table } from '../output.ts'
import { count } from './lines.ts'
import { lostReasons, methodNames } from './words.ts'

/** Describes the result of a what-if: installs by partner, and each move with an install that explains it. */
export function whatIfStory({ installs, changed, partners, moves }: WhatIf): string {
  const head = ['partner', 'before', 'after', 'reinstalls before', 'reinstalls after']
  const rows = partners.map((one) => [
    ...[one.partner, one.before, one.after, one.reinstalls_before, one.reinstalls_after],
  ])
  return [
    `${count(installs, 'install')}: ${changed} would have another verdict.`,
    ...(rows.length === 0 ? [] : [table(head, rows)]),
    ...moves.map((move) => printable(titleOf(move)) + sidesOf(move)),
  ].join('\n\n')
}

function titleOf({ from, to, installs, example }: WhatIfMove): string {
  const way = from === to ? `of ${from} with another verdict` : `from ${from} to ${to}`
  return `${count(installs, 'install')} ${way}, such as ${example.install_uuid}`
}

const sidesOf = ({ example: { before, after } }: WhatIfMove): string =>
  [`Before: ${sideText(before)}${lostText(before, 'after')}`, `After: ${sideText(after)}${lostText(after, 'before')}`]
    .map((text) => `\n  ${printable(text)}`)
    .join('')

function sideText({ partner, campaign, attribution_type, reinstall, fraud_flags, pending }: WhatIfSide): string {
  if (pending) return 'waits for a click that it names.'
  const by = Object.hasOwn(methodNames, attribution_type) ? `, by ${methodNames[attribution_type as Method]}` : ''
  return `${[
    `${campaign === null ? partner : `${partner}, campaign ${campaign}`}${by}`,
    ...(reinstall ? ['a reinstall'] : []),
    ...(fraud_flags.length > 0 ? [`flagged ${fraud_flags.join(', ')}`] : []),
  ].join('; ')}.`
}

function lostText({ reason }: WhatIfSide, other: 'before' | 'after'): string {
  if (reason === null) return ''
  return ` The click of ${other} lost: ${reasonText(reason)}`
}

function reasonText(reason: NonNullable<WhatIfSide['reason']>): string {
  switch (reason) {
    case 'weaker_method':
      return 'another click matches by a stronger method.'
    case 'unknown_click':
      return 'it has not arrived.'
    default:
      return lostReasons[reason]
  }
}
