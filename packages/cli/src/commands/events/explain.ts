import type { InstallRecord } from '@tributary/contracts/install-record'
import type { Command } from 'commander'
import { readConfig } from '../../config.ts'
import { installStory } from '../../explain/install-story.ts'
import { refusal, request } from '../../http.ts'
import { print } from '../../output.ts'
import { readSecret, secretOption } from '../../secrets/secret-option.ts'

/** Columns of a story where no terminal tells its own, and at most: longer lines read badly. */
const columns_default = 80
const columns_max = 100

interface ExplainOptions {
  key?: string
  keyFile?: string
  json?: boolean
}

/** Adds `explain INSTALL_UUID`. */
export function explainCommand(program: Command): void {
  const command = program
    .command('explain')
    .description('tell where an install came from, and why')
    .argument('<install_uuid>', 'the id of the install in its events')
    .action(async (install_uuid: string, { key: given, keyFile: file, json }: ExplainOptions) => {
      const key = await readSecret('key', { given, file }, 'TRIBUTARY_SERVER_KEY')
      const url = `${readConfig().url}/api/v1/installs/${encodeURIComponent(install_uuid)}`
      const answer = await request(url, { headers: { authorization: `Bearer ${key}` } })
      if (answer.status !== 200) throw refusal(answer)
      const record = answer.body as InstallRecord
      print({ json }, record, json === true ? '' : installStory(record, columns()))
    })
  secretOption(command, 'key', 'server key (srv_...)', 'TRIBUTARY_SERVER_KEY')
}

const columns = (): number => Math.min(process.stdout.columns || columns_default, columns_max)
