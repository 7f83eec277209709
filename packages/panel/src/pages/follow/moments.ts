import { texts as ofInstalls } from '../install/texts.ts'
import type { Step } from './query.ts'
import { texts } from './texts.ts'

export interface Moment {
  at_ms: number
  kind: 'won' | 'lost' | 'install' | 'decided' | 'event'
  title: string
  text: string
  facts: readonly (readonly [string, string | null])[]
}

const spaced = (name: string) => name.replaceAll('_', ' ')

/** A step in words. */
export function momentOf(step: Step): Moment {
  switch (step.kind) {
    case 'click':
      return {
        ...{ at_ms: step.at_ms, kind: step.stopped === null ? 'won' : 'lost', title: texts.click },
        text: step.stopped === null ? texts.attributes : texts.stopped(spaced(step.stopped)),
        facts: [
          ['Click id', step.click_id],
          ['Click id of the partner', step.ext_click_id],
          ['Country', step.country],
          ['System', step.os],
        ],
      }
    case 'install':
      return {
        at_ms: step.installed_at_ms,
        kind: 'install',
        title: texts.installed,
        text: step.install_uuid,
        facts: [],
      }
    case 'verdict':
      return verdictMoment(step)
    case 'postback':
      return {
        ...{ at_ms: step.at_ms, kind: 'event', title: texts.postback(step.protocol.toUpperCase()), text: step.network },
        facts: [
          ['Environment', step.environment],
          ['Source', step.source],
          ['Number', String(step.sequence_index)],
          ['Conversion value', step.fine === null ? step.coarse : String(step.fine)],
          ['Won', step.did_win === null ? null : step.did_win ? 'yes' : 'no'],
        ],
      }
    default:
      return {
        ...{ at_ms: step.at_ms, kind: step.kind === 'accepted' ? 'event' : 'lost' },
        title: `${texts.kinds[step.kind]}: ${step.event_name ?? texts.request}`,
        text: step.message ?? '',
        facts: [
          ['Code', step.code],
          ['Field', step.field],
          ['Event id', step.event_id],
        ],
      }
  }
}

function verdictMoment({ decided_at_ms, pending, verdict, candidates }: Extract<Step, { kind: 'verdict' }>): Moment {
  if (verdict === null || pending)
    return { at_ms: decided_at_ms, kind: 'decided', title: texts.pending, text: texts.pendingHelp, facts: [] }
  const lost = candidates.filter(({ outcome }) => outcome === 'lost')
  return {
    ...{ at_ms: decided_at_ms, kind: 'won', title: texts.verdict(verdict.partner) },
    text: verdict.click_id === null ? texts.organic : texts.by(spaced(verdict.attribution_type)),
    facts: [
      ['Campaign', verdict.campaign],
      ['Link', verdict.link_id],
      ['Flags', verdict.fraud_flags.map(spaced).join(', ') || null],
      ...lost.map(
        ({ partner, reason, click_id }) =>
          [
            `Click ${click_id}`,
            texts.lost(partner ?? ofInstalls.unknownPartner, ofInstalls.lost[reason ?? ''] ?? ''),
          ] as const,
      ),
    ],
  }
}
