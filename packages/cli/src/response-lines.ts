/** The lines of an answer as they arrive. Does not use readline, which ignores errors of its input. */
export async function* linesOf(response: Response): AsyncGenerator<string> {
  let open: string[] = []
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
    const [end = '', ...more] = text.split('\n')
    open.push(end)
    for (const begin of more) {
      yield open.join('')
      open = [begin]
    }
  }
  const rest = open.join('')
  if (rest !== '') yield rest
}
