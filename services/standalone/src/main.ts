import { runService } from '@tributary/service-kit/service/run-service'
import { service } from './service.ts'

// The embedded engines make files of their own: none of them is for other users.
process.umask(0o077)
await runService(service)
