import { join } from 'node:path'
import { startProcess } from '../process/drive-process.ts'
import type { GatewayOrder } from './gateway.ts'

/** The gateway under test as a child process, driven step by step over IPC. */
export const startGateway = (order: GatewayOrder, execArgv: readonly string[]) =>
  startProcess(join(import.meta.dirname, 'gateway.ts'), order, execArgv)
