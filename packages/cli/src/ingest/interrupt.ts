import { CliError } from '../errors.ts'

const resume = 'Continue with the same command and --resume.'

/** A signal that the first Ctrl-C or SIGTERM aborts. The second one ends the process at once. */
export function onInterrupt(): AbortSignal {
  const stop = new AbortController()
  const interrupt = () => stop.abort(new CliError('interrupted', `The run was stopped. ${resume}`))
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
  return stop.signal
}

/** Says of an unreachable service how to go on. */
export function nameResume(error: unknown): never {
  if (error instanceof CliError && error.code === 'unavailable')
    throw new CliError(error.code, `${error.message} ${resume}`)
  throw error
}
