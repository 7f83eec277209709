import type { Output } from '../../api/call.ts'
import { texts } from './texts.ts'

type Install = Output<'getAppInstall'>

export interface Moment {
  at_ms: number
  kind: 'won' | 'lost' | 'install' | 'decided' | 'identity'
  title: string
  text: string
  facts: [string, string | null][]
}

/** What is known of an install, in the order of time. */
export function momentsOf(install: Install): Moment[] {
  const moments: Moment[] = [
    ...install.candidates.map((click): Moment => {
      const won = click.outcome === 'won'
      const verdict = won ? install.verdict : null
      return {
        ...{ at_ms: click.clicked_at_ms, kind: won ? 'won' : 'lost' },
        title: texts.click(click.partner ?? texts.unknownPartner),
        text: won ? texts.won : (texts.lost[click.reason ?? ''] ?? click.reason ?? ''),
        facts: [
          ['Click id', click.click_id],
          ['Proof', click.method.replaceAll('_', ' ')],
          ...(verdict
            ? ([
                ['Campaign', verdict.campaign],
                ['Click id of the partner', verdict.ext_click_id],
              ] as [string, string | null][])
            : []),
        ],
      }
    }),
    ...install.history.map(
      (verdict): Moment => ({
        ...{ at_ms: verdict.decided_at_ms, kind: 'decided', title: texts.decided(verdict.partner) },
        ...{ text: texts.changed, facts: [['Proof', verdict.attribution_type.replaceAll('_', ' ')]] },
      }),
    ),
    ...install.identities.map(
      ({ user_id, since_ms }): Moment => ({
        ...{ at_ms: since_ms, kind: 'identity', title: texts.identity(user_id), text: '', facts: [] },
      }),
    ),
  ]
  if (install.installed_at_ms !== null)
    moments.push({
      at_ms: install.installed_at_ms,
      kind: 'install',
      title: texts.install,
      text: verdictText(install),
      facts: [],
    })
  return moments.toSorted((a, b) => a.at_ms - b.at_ms)
}

export function verdictText({ verdict, pending }: Install): string {
  if (verdict === null) return pending ? texts.pending : texts.undecided
  if (verdict.attribution_type === 'imported') return texts.imported(verdict.partner)
  if (verdict.click_id === null) return texts.organic
  return texts.by(verdict.partner, verdict.attribution_type.replaceAll('_', ' '))
}
