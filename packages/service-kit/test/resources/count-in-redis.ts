/** Counts once in the Redis that the settings name, and prints what came of it and all that was logged. */
import { openRedis, redisSettings } from '@tributary/service-kit/resources/redis'
import { readSettings } from '@tributary/service-kit/settings/read-settings'
import { serviceUnderTest } from '../service/service-under-test.ts'

const { service, logged, close } = serviceUnderTest()
const config = readSettings(process.env, redisSettings, ['TRIBUTARY_REDIS_URL'])
const answer = await openRedis(config, service)
  .then((keyValue) => keyValue.addCapped('test:tls', 1, null, 60_000))
  .catch((error: Error) => error.message)
await close()
process.stdout.write(JSON.stringify({ answer, logged: logged() }))
