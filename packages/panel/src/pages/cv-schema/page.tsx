import { routes } from '../../api/declared/routes.ts'
import { Choice } from '../../parts/choice.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Skeleton } from '../../parts/skeleton.tsx'
import { hasRole } from '../../shell/roles.ts'
import { useApp, usePlace } from '../../shell/session.ts'
import { useSetWords, useWords } from '../../shell/words.ts'
import { NewVersion } from './new-version.tsx'
import { PostbackCard } from './postback-card.tsx'
import { useSchema } from './query.ts'
import { texts } from './texts.ts'

/** What the conversion values of an app stand for, by version, and the way to a new one. */
export default function CvSchema() {
  const { me } = usePlace()
  const app = useApp()
  const { version } = useWords()
  const setWords = useSetWords()
  const live = useSchema(app.app_id)
  const shown = useSchema(app.app_id, version)
  const { data, error } = shown
  const newest = live.data?.version ?? null
  if (live.data === undefined || (data === undefined && error === null))
    return live.error === null ? (
      <Skeleton shape="table" />
    ) : (
      <Fault error={live.error} retry={() => void live.refetch()} />
    )
  return (
    <>
      <div className="line">
        <p className="quiet">{texts.help}</p>
        {newest !== null && newest > 1 && (
          <Choice
            label={texts.version}
            quiet
            value={version ?? String(newest)}
            options={Array.from({ length: newest }, (_, n) => newest - n).map((n) => ({
              id: String(n),
              name: n === newest ? texts.live(n) : texts.past(n),
            }))}
            onChange={(id) => setWords({ version: id === String(newest) ? undefined : id })}
          />
        )}
        {newest === 1 && <span className="pill good">{texts.live(1)}</span>}
      </div>
      {error !== null && <Fault error={error} retry={() => void shown.refetch()} />}
      {newest === null && (
        <section className="empty">
          <h2>{texts.none}</h2>
          <p className="quiet">{texts.noneHelp}</p>
        </section>
      )}
      {data?.schema?.postbacks.map((postback) => (
        <PostbackCard key={postback.postback_sequence_index} postback={postback} />
      ))}
      {hasRole(me, routes.publishCvSchema.roles, app.company_id) && (
        <NewVersion key={app.app_id} app_id={app.app_id} live={live.data.schema} />
      )}
    </>
  )
}
