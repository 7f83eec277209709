import { StartRefused } from '../settings/start-refused.ts'

/** A server can't be used as things are: `reason` says what was found, `fix` what to do. */
export class EngineRefused extends StartRefused {
  override name = 'EngineRefused'
  readonly reason: string
  readonly fix: string

  constructor(reason: string, fix: string, options?: ErrorOptions) {
    super(`${reason} ${fix}`, options)
    this.reason = reason
    this.fix = fix
  }
}

/** The error of an engine as a refusal that names it and the setting of its address; a refusal stays as it is. */
export function toRefusal(engine: string, setting: string, error: unknown): StartRefused {
  if (error instanceof StartRefused) return error
  return new EngineRefused(`${engine} can't be used: ${saidOf(error)}.`, `Does it run, and is ${setting} right?`, {
    cause: error,
  })
}

/** The first lines of an error and of what caused it, the same words once. */
function saidOf(error: unknown): string {
  const said: string[] = []
  for (let at: unknown = error; at instanceof Error && said.length < 3; ) {
    const [line = ''] = at.message.split('\n')
    const text = line.replace(/[.:\s]+$/, '').slice(0, 300)
    if (text !== '' && !said.some((before) => before.includes(text))) said.push(text)
    at = at instanceof AggregateError ? at.errors[0] : at.cause
  }
  return said.length === 0 ? 'it does not say why' : said.join(': ')
}
