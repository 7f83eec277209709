// Loaded by `node --import`: writes each module of OpenTelemetry that the process loads to the end of the file LOADED_MODULES.
// Its API is left out, because prom-client loads that.
import { appendFileSync } from 'node:fs'
import module from 'node:module'

// The bootstrap runs on an older Node, which lacks it.
module.registerHooks?.({
  load(url, context, next) {
    if (url.includes('/@opentelemetry/') && !url.includes('/@opentelemetry/api/'))
      appendFileSync(process.env.LOADED_MODULES, `${url}\n`)
    return next(url, context)
  },
})
