import type { Link } from './query.ts'
import { texts } from './texts.ts'

/** Whether a link counts clicks. */
export const LinkState = ({ link: { status, honeypot } }: { link: Link }) => (
  <>
    <span className={`pill ${status === 'enabled' ? 'good' : ''}`}>{texts[status]}</span>
    {honeypot && <span className="pill warn">{texts.trap}</span>}
  </>
)
