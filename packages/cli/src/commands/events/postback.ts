import { type PostbackProtocol, postbackProtocols } from '@tributary/contracts/postback/received'
import { judgePostback } from '@tributary/domain/postback/judge'
import { applePostbackKeys } from '@tributary/domain/postback/keys'
import { type Command, Option } from 'commander'
import { readableFile } from '../../arguments.ts'
import { readConfig } from '../../config.ts'
import { request } from '../../http.ts'
import { lines, print } from '../../output.ts'
import { readPostbackFile } from '../../postback/postback-file.ts'
import { reasonText } from '../../postback/reason-words.ts'

interface PostbackOptions {
  protocol?: PostbackProtocol
  json?: boolean
}

const verifyHelp = `
FILE holds the body of one postback as Apple sends it. The keys are those of this release; nothing is sent anywhere.
Any verdict is an answer: the exit code is 0.
--json: {protocol, verdict, reason, key}`

const sendHelp = `
FILE holds the body of one postback as Apple sends it. The exit code is 0 when the service stored it.
--json: {status, body}`

/** Adds `postback verify` and `postback send`. */
export function postbackCommands(program: Command): void {
  const group = program.command('postback').description('install postbacks of Apple: SKAdNetwork and AdAttributionKit')
  add(group, 'verify', 'say whether Apple signed a postback, and what is in it', verifyHelp, verify)
  add(group, 'send', 'send a postback to the service as a device does', sendHelp, send)
}

type Action = (path: string, options: PostbackOptions) => Promise<void>

function add(group: Command, name: string, description: string, help: string, action: Action): void {
  const protocol = new Option('--protocol <protocol>', 'default: by the content of FILE').choices(postbackProtocols)
  const command = group
    .command(name)
    .description(description)
    .argument('<file>', 'body of one postback', readableFile)
    .addOption(protocol)
  command.addHelpText('after', help).action(action)
}

async function verify(path: string, options: PostbackOptions): Promise<void> {
  const { body, protocol } = await readPostbackFile(path, options.protocol)
  const judged = judgePostback({ protocol, body: body.toString() }, applePostbackKeys())
  const { verdict, reason, key, environment, ...said } = judged
  const fields = Object.entries(said).map(([field, value]) => [field, value === '' ? null : value])
  const text = lines({ verdict, reason: reasonText(judged), key, environment, ...Object.fromEntries(fields) })
  print(options, { protocol, verdict, reason, key }, text)
}

async function send(path: string, options: PostbackOptions): Promise<void> {
  const { body, protocol } = await readPostbackFile(path, options.protocol)
  const is_jws = protocol === 'aak' && !body.toString().trimStart().startsWith('{')
  const headers = { 'content-type': is_jws ? 'application/jwt' : 'application/json' }
  const answer = await request(`${readConfig().url}/${protocol}-postback`, { method: 'POST', headers, body })
  const { status, body: answered = null } = answer
  print(options, { status, body: answered }, `${status} ${JSON.stringify(answered)}`)
  if (status !== 200) process.exitCode = 1
}
