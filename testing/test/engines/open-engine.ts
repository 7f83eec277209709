import { openOwnEngine } from '../../engines/open-engine.ts'

/** Opens an engine and waits to be killed (engines.contract.test.ts). */
const { url, dir } = await openOwnEngine('redis')
process.send?.({ url, dir })
process.stdin.resume()
