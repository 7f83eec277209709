import { get, type IncomingMessage } from 'node:http'
import { onTestFinished, vi } from 'vitest'
import { authorization } from '../admin-app.ts'
import { type Browser, base_path, host } from '../people/people-world.ts'

export const patience = { timeout: 60_000, interval: 20 }

/** Makes the function that opens a stream as a browser does, or with the admin token. What it watches is watched when it answers. */
export function streamsOf(listen: () => Promise<string>) {
  let address: Promise<string> | null = null
  return async <Message>(path: string, as: Browser | null, at?: Promise<string>) => {
    address ??= listen()
    const cookie = as && [...as.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { host, ...(cookie === null ? { authorization } : { cookie }) }
    const url = `${await (at ?? address)}${base_path}${path}`
    const answer = await new Promise<IncomingMessage>((resolve) => get(url, { headers }, resolve))
    onTestFinished(() => void answer.destroy())
    const stream = { status: answer.statusCode, type: answer.headers['content-type'], ended: false, text: '' }
    answer.setEncoding('utf8').on('data', (text: string) => {
      stream.text += text
    })
    answer.once('close', () => {
      stream.ended = true
    })
    const messages = (): Message[] =>
      stream.text.split('\n\n').flatMap((part) => (part.startsWith('data: ') ? JSON.parse(part.slice(6)) : []))
    const until = (holds: (messages: Message[]) => void) => vi.waitFor(() => holds(messages()), patience)
    return Object.assign(stream, { answer, messages, until })
  }
}
