import { openEngine } from './engine.ts'
import { serveEngine } from './http-server.ts'

const [port, data_dir] = process.argv.slice(2)
if (port === undefined || data_dir === undefined) throw new Error('usage: main.ts PORT DATA_DIR')
const engine = await openEngine(data_dir)
serveEngine(engine).listen(Number(port), '127.0.0.1')
