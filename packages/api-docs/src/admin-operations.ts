import { appOperations } from './admin/app-operations.ts'
import { companyOperations } from './admin/company-operations.ts'
import { deadLetterOperations } from './admin/dead-letter-operations.ts'
import { keyOperations } from './admin/key-operations.ts'
import { storedDataOperations } from './admin/stored-data-operations.ts'
import { systemOperations } from './admin/system-operations.ts'
import type { Operation } from './operation.ts'

/** The routes of the admin API, in the order of the document. */
export const adminOperations: readonly Operation[] = [
  ...companyOperations,
  ...appOperations,
  ...keyOperations,
  ...storedDataOperations,
  ...deadLetterOperations,
  ...systemOperations,
]
