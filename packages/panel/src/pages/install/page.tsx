import { duration, localTime, time } from '../../api/numbers.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Skeleton } from '../../parts/skeleton.tsx'
import { PageLink } from '../../shell/page-link.tsx'
import { momentsOf, verdictText } from './chart.ts'
import { useInstall } from './query.ts'
import { Receipts } from './receipts.tsx'
import { texts } from './texts.ts'

/** Where an install came from, and why not from elsewhere. */
export default function Install() {
  const { data, error, refetch } = useInstall()
  if (error !== null) return <Fault error={error} retry={() => void refetch()} />
  if (data === undefined) return <Skeleton shape="page" />
  const { verdict, windows } = data
  return (
    <>
      <section className="figure" aria-label={texts.verdict}>
        <div className="line">
          <h2 className="mono wrap">{data.install_uuid}</h2>
          <CopyButton text={data.install_uuid} />
          <PageLink page="follow" words={{ install: data.install_uuid }} className="button small end">
            {texts.follow}
          </PageLink>
        </div>
        <p>
          <strong>{verdictText(data)}</strong> {verdict?.reinstall && texts.reinstall}{' '}
          {data.pending && verdict !== null && texts.pending}
        </p>
        {verdict !== null && verdict.fraud_flags.length > 0 && (
          <p className="line">
            {texts.flags}
            {verdict.fraud_flags.map((flag) => (
              <span key={flag} className="pill bad">
                {flag.replaceAll('_', ' ')}
              </span>
            ))}
          </p>
        )}
        <Facts
          facts={[
            ['Campaign', verdict?.campaign ?? null],
            ['Link', verdict?.link_id ?? null],
            ...[verdict?.sub1, verdict?.sub2, verdict?.sub3, verdict?.sub4, verdict?.sub5].flatMap(
              (sub, n): [string, string][] => (sub ? [[`Sub ${n + 1}`, sub]] : []),
            ),
            ['Deep link', verdict?.deep_link ?? null],
            [
              texts.why,
              windows && texts.windows(windows.click_hours, windows.probabilistic_hours, windows.reinstall_days),
            ],
          ]}
        />
      </section>
      <section className="figure" aria-label={texts.timeline}>
        <h2>{texts.timeline}</h2>
        {data.installed_at_ms === null && <p className="quiet">{texts.noInstall}</p>}
        <ol className="time-line">
          {momentsOf(data).map(({ at_ms, kind, title, text, facts }, n) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: an answer never changes its order
            <li key={n} data-kind={kind}>
              <time dateTime={new Date(at_ms).toISOString()} title={localTime(at_ms)}>
                {time(at_ms)}
                {kind !== 'install' && data.installed_at_ms !== null && (
                  <span className="gap">
                    {at_ms <= data.installed_at_ms
                      ? texts.beforeInstall(duration(data.installed_at_ms - at_ms))
                      : texts.afterInstall(duration(at_ms - data.installed_at_ms))}
                  </span>
                )}
              </time>
              <div className="wrap">
                <h3>{title}</h3>
                <p>{text}</p>
                {facts.length > 0 && <Facts facts={facts} />}
              </div>
            </li>
          ))}
        </ol>
        {data.identities_cut && <p className="quiet">{texts.more}</p>}
      </section>
      {data.receipts.length > 0 && <Receipts receipts={data.receipts} cut={data.receipts_cut === true} />}
    </>
  )
}
