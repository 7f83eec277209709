import { serverNow } from '../../api/clock.ts'
import { duration } from '../../api/numbers.ts'
import { Fault } from '../../parts/fault.tsx'
import { Skeleton } from '../../parts/skeleton.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import type { App } from '../../shell/session.ts'
import { useAttention } from './query.ts'
import { texts } from './texts.ts'

/** What needs attention: of the app, its company and the installation; of everything without an app. */
export function Attention({ app }: { app?: App }) {
  const { data, error, refetch } = useAttention()
  const items = data?.items.filter(
    ({ company_id, app_id }) =>
      app === undefined ||
      company_id === null ||
      (company_id === app.company_id && (app_id === null || app_id === app.app_id)),
  )
  return (
    <section className="figure" aria-label={texts.attention}>
      <h2>{texts.attention}</h2>
      {error !== null && <Fault error={error} retry={() => void refetch()} />}
      {items === undefined && error === null && <Skeleton shape="text" />}
      {items?.length === 0 && <p className="quiet">{texts.nothing}</p>}
      {items !== undefined && items.length > 0 && (
        <ul className="attention">
          {items.map(({ code, app_id, company_id, since_ms, message, fix, docs }) => (
            <li key={`${code} ${company_id} ${app_id} ${message}`}>
              <span className="pill warn">{code.replaceAll('_', ' ')}</span>
              <div className="wrap">
                <strong>{message}</strong> <span className="quiet">{fix}</span>
                {code === 'receipts_wait' && app_id !== null && (
                  <>
                    {' '}
                    <PageLink page="receipts" words={{ app: app_id }}>
                      {texts.receipts}
                    </PageLink>
                  </>
                )}
              </div>
              <span className="quiet">
                {since_ms !== null && `${duration(Math.max(0, serverNow() - since_ms))} · `}
                <a href={docs}>Read more</a>
              </span>
            </li>
          ))}
        </ul>
      )}
      {data !== undefined && data.unchecked.length > 0 && (
        <p className="quiet">{texts.unchecked(data.unchecked.join(', '))}</p>
      )}
    </section>
  )
}
