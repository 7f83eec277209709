/** Asks on the terminal. Without one, and for every answer but yes, the answer is no. */
export async function confirm(question: string): Promise<boolean> {
  const { stdin: input, stderr: output } = process
  if (!input.isTTY || !output.isTTY) return false
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input, output })
  // Ctrl-C and the end of the input close it without an answer.
  const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')))
  try {
    const answer = await Promise.race([terminal.question(`${question} [y/N] `), closed])
    return /^y(es)?$/i.test(answer.trim())
  } finally {
    terminal.close()
  }
}
