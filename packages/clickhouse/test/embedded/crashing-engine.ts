/** Opens an engine in the folder that is named, says so, and waits. */
import { openEmbeddedClickhouse } from '../../src/embedded/embedded-clickhouse.ts'

await openEmbeddedClickhouse({ data_dir: process.argv[2]! })
process.stdout.write('open\n')
setInterval(() => {}, 1000)
