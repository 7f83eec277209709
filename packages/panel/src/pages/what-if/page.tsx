import { Button, Form } from 'react-aria-components'
import { count } from '../../api/numbers.ts'
import { type Window, windowOf } from '../../api/range.ts'
import { Fault } from '../../parts/fault.tsx'
import { givenOf } from '../../parts/given.ts'
import { TextInput } from '../../parts/text-input.tsx'
import { useApp } from '../../shell/session.ts'
import { useWords } from '../../shell/words.ts'
import { Outcome } from './outcome.tsx'
import { type Settings, useWhatIf } from './query.ts'
import { texts } from './texts.ts'

/** Decides the installs of an app again with other settings. An outcome is of the app and the dates above it. */
export default function WhatIfPage() {
  const { app_id } = useApp()
  const window = windowOf(useWords())
  return <Decide key={`${app_id} ${window.since_ms} ${window.until_ms}`} app_id={app_id} window={window} />
}

function Decide({ app_id, window }: { app_id: string; window: Window }) {
  const { run, progress, cancel } = useWhatIf(app_id, window)
  return (
    <>
      <p className="quiet">
        {texts.help} <a href="/docs/attribution#what-if">{texts.more}</a>
      </p>
      <Form
        className="filters"
        onSubmit={(event) => {
          event.preventDefault()
          run.mutate(settingsOf(event.currentTarget))
        }}
      >
        <TextInput name="click_window_hours" label={texts.clickWindow} {...wholeNumber} />
        <TextInput name="reinstall_days" label={texts.reinstall} {...wholeNumber} />
        <label className="check">
          <input type="checkbox" name="not_by_address" /> {texts.byAddress}
        </label>
        <Button type="submit" className="button primary" isPending={run.isPending}>
          {texts.run}
        </Button>
      </Form>
      {run.isPending && (
        <div className="line" role="status">
          <progress aria-label={texts.deciding} value={progress?.decided} max={progress?.installs} />
          {progress !== null && <span>{texts.progress(count(progress.decided), count(progress.installs))}</span>}
          <Button className="button small" onPress={cancel}>
            {texts.cancel}
          </Button>
        </div>
      )}
      {run.error !== null && <Fault error={run.error} />}
      {run.data && <Outcome outcome={run.data} />}
    </>
  )
}

const wholeNumber = { help: texts.asDecided, inputMode: 'numeric', pattern: '[0-9]+' } as const

function settingsOf(form: HTMLFormElement): Settings {
  const given = givenOf(form)
  const [hours, days] = [given('click_window_hours'), given('reinstall_days')]
  return {
    ...(hours !== undefined && { click_window_hours: Number(hours) }),
    ...(days !== undefined && { reinstall_days: Number(days) }),
    ...(given('not_by_address') !== undefined && { probabilistic: 'false' }),
  }
}
