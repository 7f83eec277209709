import { parseArgs } from 'node:util'
import { runFuzz } from './run-fuzz.ts'

const help = `npm run fuzz -- [options]

Starts a standalone process of its own and sends it requests that nobody expects, over real sockets: changed JSON, text,
bytes, gzip streams, headers, paths, methods, broken HTTP; half of them signed correctly after the change, half of the
backend ones with a right key. Every hundredth request is an ordinary one.

Each answer must come in time, be no 5xx and, where it refuses, be a code of the catalogue for its surface. The service
must stay alive, its memory flat. In the end the events report must count exactly what was accepted.

  --requests N  how many (100000)
  --seconds S   at most so long (no limit)
  --seed N      the same requests again, but for times and credentials (a random one)
  --only N      request N of that seed and no other
  --json        exactly one JSON document on stdout

Exit code 1 when anything is wrong; the first request at fault is named, and kept as a file with its bytes.`

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
  const say = (line: string) => process.stderr.write(`${line}\n`)
  const result = await runFuzz({
    seed: number('seed', 0),
    requests: number('requests', 1),
    seconds: number('seconds', 1),
    ...(values.only === undefined ? {} : { only: number('only', 0) }),
    say,
  })
  if (values.json) console.info(JSON.stringify(result))
  else console.info(result)
  for (const { fault, request, file } of result.failures) {
    say(
      request === undefined
        ? fault
        : `${fault}\n  again with: npm run fuzz -- --seed ${result.seed} --only ${request}\n  its bytes: ${file}`,
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
