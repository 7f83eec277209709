import { count } from '../../api/numbers.ts'
import { Facts } from '../../parts/facts.tsx'
import { type DataColumn, DataTable } from '../../parts/figure/data-table.tsx'
import { Part } from '../../parts/figure/part.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import { texts as installTexts } from '../install/texts.ts'
import type { Move, OfPartner, WhatIf } from './query.ts'
import { texts } from './texts.ts'

const whole = count as (value: never) => string
const signed = ((value: number) => (value > 0 ? `+${count(value)}` : count(value))) as (value: never) => string

const partnerColumns: DataColumn<OfPartner>[] = [
  { id: 'partner', name: texts.partner, value: ({ partner }) => partner },
  { id: 'before', name: texts.before, numeric: true, value: ({ before }) => before, write: whole },
  { id: 'after', name: texts.after, numeric: true, value: ({ after }) => after, write: whole },
  { id: 'change', name: texts.change, numeric: true, value: ({ before, after }) => after - before, write: signed },
  {
    ...{ id: 'reinstalls_before', name: texts.reinstallsBefore, numeric: true, write: whole },
    value: ({ reinstalls_before }) => reinstalls_before,
  },
  {
    ...{ id: 'reinstalls_after', name: texts.reinstallsAfter, numeric: true, write: whole },
    value: ({ reinstalls_after }) => reinstalls_after,
  },
]

type Side = Move['example']['before']

/** The partner of an organic install is its type too: a set names it once. */
function verdictOf({ partner, campaign, attribution_type, reinstall, pending }: Side): string {
  const parts = new Set([partner, campaign, attribution_type.replaceAll('_', ' ')])
  if (reinstall) parts.add(texts.isReinstall)
  if (pending) parts.add(texts.pending)
  return [...parts].filter((part) => part !== null && part !== '').join(', ')
}

/** Why the click of one side lost on the other. */
const whyOf = ({ before, after }: Move['example']): string | null => {
  const reason = after.reason ?? before.reason
  return reason === null ? null : (installTexts.lost[reason] ?? reason)
}

const moveColumns: DataColumn<Move>[] = [
  { id: 'from', name: texts.from, value: ({ from }) => from },
  { id: 'to', name: texts.to, value: ({ to }) => to },
  { id: 'installs', name: texts.count, numeric: true, bar: true, value: ({ installs }) => installs, write: whole },
  {
    ...{ id: 'example', width: 330, name: texts.example, value: ({ example }: Move) => example.install_uuid },
    cell: ({ example: { install_uuid } }) => (
      <PageLink page="install" id={install_uuid} className="cut">
        {install_uuid}
      </PageLink>
    ),
  },
  {
    ...{ id: 'verdicts', width: 420, name: texts.verdicts },
    value: ({ example: { before, after } }) => `${verdictOf(before)} → ${verdictOf(after)}`,
  },
  { id: 'why', width: 260, name: texts.why, value: ({ example }) => whyOf(example) },
]

/** The verdicts before and after, side by side. */
export function Outcome({ outcome: { installs, changed, partners, moves } }: { outcome: WhatIf }) {
  return (
    <>
      <Facts
        facts={[
          [texts.installs, count(installs)],
          [texts.changed, count(changed)],
        ]}
      />
      <Part title={texts.partners} help={texts.partnersHelp}>
        <DataTable
          label={texts.partners}
          columns={partnerColumns}
          items={partners}
          idOf={({ partner }) => partner}
          empty={texts.noInstalls}
        />
      </Part>
      <Part title={texts.moves} help={texts.movesHelp}>
        <DataTable
          label={texts.moves}
          columns={moveColumns}
          items={moves}
          idOf={({ from, to }) => `${from} ${to}`}
          empty={texts.none}
        />
      </Part>
    </>
  )
}
