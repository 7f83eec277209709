/** A failure with a message for people and a code for scripts: `{"error": code, "message"}` on stderr. */
export class CliError extends Error {
  override name = 'CliError'
  readonly code: string
  /** 1: the command failed. 2: it was typed wrongly. */
  readonly exit_code: 1 | 2
  /** The field of the request that the service refused. */
  readonly field: string | undefined

  constructor(code: string, message: string, exit_code: 1 | 2 = 1, field?: string) {
    super(message)
    this.code = code
    this.exit_code = exit_code
    this.field = field
  }
}

/** The error of a command that was typed wrongly. */
export const usageError = (message: string): CliError => new CliError('usage', message, 2)
