import { runService } from '@tributary/service-kit/service/run-service'
import { service } from './service.ts'

await runService(service)
