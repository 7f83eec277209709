import { parseArgs } from 'node:util'
import { runFuzz } from './run-fuzz.ts'

const help = `npm run fuzz -- [options]

Starts a standalone process and sends it malformed requests over real sockets: changed JSON, text, bytes, gzip streams,
headers, paths, methods and broken HTTP. Half of them are signed correctly after the change, or have a valid server key.
Every hundredth request is an ordinary one.

Each answer must come in time and must not be a 5xx. A refusal must have an error code of the catalogue for its surface.
The service must stay alive with flat memory. In the end the events report must count exactly the accepted events.

  --requests N  number of requests (100000)
  --seconds S   longest duration (no limit)
  --seed N      repeat the requests of this seed, except for times and credentials (random)
  --only N      send only request N of the seed
  --json        print exactly one JSON document on stdout

Exit code 1 when a check fails. The command then names the first failed request and keeps its bytes in a file.`

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '86400' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

async function main(): Promise<number> {
  const number = (name: 'requests' | 'seconds' | 'seed' | 'only', min: number): number => {
    const value = Number(values[name])
    if (!(value >= min)) throw new Error(`--${name} needs a number of at least ${min}`)
    return value
  }
  const log = (line: string) => process.stderr.write(`${line}\n`)
  const result = await runFuzz({
    seed: number('seed', 0),
    requests: number('requests', 1),
    seconds: number('seconds', 1),
    ...(values.only === undefined ? {} : { only: number('only', 0) }),
    log,
  })
  if (values.json) console.info(JSON.stringify(result))
  else console.info(result)
  for (const { fault, request, file } of result.failures) {
    log(
      request === undefined
        ? fault
        : `${fault}\n  repeat with: npm run fuzz -- --seed ${result.seed} --only ${request}\n  its bytes: ${file}`,
    )
  }
  return result.failures.length === 0 ? 0 : 1
}

if (values.help) console.info(help)
else {
  process.exitCode = await main().catch((error: Error) => {
    process.stderr.write(`${error.stack}\n`)
    return 1
  })
}
