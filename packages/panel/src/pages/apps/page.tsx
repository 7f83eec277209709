import { Button } from 'react-aria-components'
import { routes } from '../../api/declared/routes.ts'
import { longDay, time } from '../../api/numbers.ts'
import { toDay } from '../../api/range.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Facts } from '../../parts/facts.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import { hasRole } from '../../shell/roles.ts'
import { type App, usePlace } from '../../shell/session.ts'
import { platformName } from '../../shell/switcher.tsx'
import { useSetWords, useWords } from '../../shell/words.ts'
import { AppKeys } from './app-keys.tsx'
import { texts } from './texts.ts'

const Copied = ({ text }: { text: string }) => (
  <span className="copied">
    <code className="cut" title={text}>
      {text}
    </code>{' '}
    <CopyButton text={text} />
  </span>
)

/** The apps of each company, and their keys. */
export default function Apps() {
  const { me, companies, apps } = usePlace()
  const { open } = useWords()
  return (
    <>
      <div className="line">
        <p className="quiet">{texts.help}</p>
        <PageLink page="new-app" className="button primary end">
          {texts.newApp}
        </PageLink>
      </div>
      {apps.length === 0 && <p className="empty">{texts.none}</p>}
      {companies.map((company) => {
        const own = apps.filter(({ company_id }) => company_id === company.company_id)
        if (own.length === 0) return null
        return (
          <section key={company.company_id} className="figure">
            <div className="line">
              <h2>{company.name}</h2>
              <span className="quiet">{texts.companyKey}</span>
              <Copied text={company.company_key} />
            </div>
            <div className="cards">
              {own.map((app) => (
                <AppCard
                  key={app.app_id}
                  app={app}
                  manages={hasRole(me, routes.createServerKey.roles, app.company_id)}
                />
              ))}
            </div>
            {own
              .filter(({ app_id }) => app_id === open)
              .map((app) => (
                <AppKeys key={app.app_id} app={app} />
              ))}
          </section>
        )
      })}
    </>
  )
}

function AppCard({ app, manages }: { app: App; manages: boolean }) {
  const { open } = useWords()
  const setWords = useSetWords()
  const isOpen = open === app.app_id
  return (
    <article className="card">
      <div className="line">
        <h3 className="wrap">
          <PageLink page="overview" words={{ app: app.app_id }}>
            {app.name}
          </PageLink>
        </h3>
        <span className="quiet end">{platformName(app.platform)}</span>
      </div>
      <Facts
        facts={[
          [texts.appKey, <Copied key="key" text={app.app_key} />],
          [texts.bundle, app.bundle_id],
          [texts.store, app.store_id],
          [
            texts.made,
            <span key="made" title={time(app.created_at_ms)}>
              {longDay(toDay(app.created_at_ms))}
            </span>,
          ],
          ...(app.old_secrets_end_ms.length > 0
            ? ([[texts.oldSecrets, app.old_secrets_end_ms.map(time).join(', ')]] as const)
            : []),
        ]}
      />
      {manages && (
        <div>
          <Button
            className="button small"
            aria-expanded={isOpen}
            onPress={() => setWords({ open: isOpen ? undefined : app.app_id })}
          >
            {isOpen ? texts.close : texts.manage}
          </Button>
        </div>
      )}
    </article>
  )
}
