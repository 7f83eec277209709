import { mkdtempSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Session } from 'chdb'

/** A Keeper in the memory of the engine: enough to make tables, not for rows, which need the address of a server. */
const config = `<clickhouse>
  <zookeeper><implementation>testkeeper</implementation></zookeeper>
  <macros><replica>one</replica></macros>
</clickhouse>`

/**
 * A process of its own, since chdb hangs when it closes replicated tables: runs the statements of standard input, a JSON
 * array, and prints a JSON array of what each answered or of the error.
 */
const dir = mkdtempSync(join(tmpdir(), 'tributary-replicated-'))
writeFileSync(join(dir, 'config.xml'), config)
const engine = new Session(join(dir, 'data'), { connectionArgs: [`--config-file=${join(dir, 'config.xml')}`] })
const answers: string[] = []
for (const statement of JSON.parse(await text(process.stdin)) as string[]) {
  const answer = await engine.queryAsync(statement, { format: 'JSONEachRow' }).catch((error: Error) => error.message)
  answers.push(typeof answer === 'string' ? answer : answer.text())
}
writeSync(1, JSON.stringify(answers))
rmSync(dir, { recursive: true, force: true })
process.kill(process.pid, 'SIGKILL')
