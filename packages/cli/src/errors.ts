/** A failure that a person can read and a script can tell apart: `{"error": code, "message"}` on stderr. */
export class CliError extends Error {
  override name = 'CliError'
  readonly code: string
  /** 1: the command failed; 2: it was not asked correctly. */
  readonly exit_code: 1 | 2

  constructor(code: string, message: string, exit_code: 1 | 2 = 1) {
    super(message)
    this.code = code
    this.exit_code = exit_code
  }
}

/** A command that was typed wrongly. */
export const usageError = (message: string): CliError => new CliError('usage', message, 2)
