import { runService } from '@tributary/service-kit/service/run-service'
import { readConfig } from './config.ts'
import { start } from './start.ts'

/** Accepted events from Kafka into ClickHouse, each exactly once. */
await runService({ name: 'event-writer', readConfig, start })
