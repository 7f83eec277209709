import { setFlagsFromString } from 'node:v8'
import { runService } from '@tributary/service-kit/service/run-service'
import { service } from './service.ts'

// Tries live long enough to become old, and V8 lets four times what lives grow old before it collects that
// (docs/decisions/running.md#old-tries-are-collected-early).
setFlagsFromString('--heap-growing-percent=30')
await runService(service)
