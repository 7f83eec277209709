import { service as clickWriter } from '@tributary/click-writer/service'
import { service as installAttributor } from '@tributary/install-attributor/service'
import { service as installFinder } from '@tributary/install-finder/service'
import { service as installWriter } from '@tributary/install-writer/service'
import { defineProcess } from '@tributary/service-kit/service/define-process'

/** Finds installs and clicks, decides where installs came from, and writes the decisions. */
export const service = defineProcess({
  name: 'attribution',
  parts: [installFinder, clickWriter, installAttributor, installWriter],
})
