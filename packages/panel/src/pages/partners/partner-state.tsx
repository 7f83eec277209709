import { count } from '../../api/numbers.ts'
import type { Partner } from './query.ts'
import { texts } from './texts.ts'

/** Whether postbacks of a partner are signed, wait or were given up. */
export const PartnerState = ({ partner: { signed, due, dead } }: { partner: Partner }) => (
  <>
    {signed && <span className="pill good">{texts.signed}</span>}
    {due > 0 && <span className="pill warn">{`${count(due)} ${texts.due.toLowerCase()}`}</span>}
    {dead > 0 && <span className="pill bad">{`${count(dead)} ${texts.dead.toLowerCase()}`}</span>}
  </>
)
