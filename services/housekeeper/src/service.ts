import { service as eraser } from '@tributary/eraser/service'
import { service as reconciler } from '@tributary/reconciler/service'
import { service as replayer } from '@tributary/replayer/service'
import { service as retention } from '@tributary/retention/service'
import { defineProcess } from '@tributary/service-kit/service/define-process'
import { service as settler } from '@tributary/settler/service'

/** Does what runs by night or beside the flow of events. */
export const service = defineProcess({ name: 'housekeeper', parts: [eraser, reconciler, replayer, retention, settler] })
