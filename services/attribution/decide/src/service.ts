import { topics } from '@tributary/contracts/topics'
import { clickhouseLookups } from '@tributary/deciding/lookups/clickhouse-lookups'
import { erasedRecordsResource } from '@tributary/erasure/erased-records'
import { clickhouseEngine } from '@tributary/service-kit/resources/clickhouse'
import { geoResource } from '@tributary/service-kit/resources/geo'
import { kafkaEngine } from '@tributary/service-kit/resources/kafka'
import { postgresEngine } from '@tributary/service-kit/resources/postgres'
import { defineService } from '@tributary/service-kit/service/define-service'
import { redecisionsResource } from '@tributary/tables/attribution/postgres-redecisions'
import { attributionAppsResource, masterKeysResource } from '@tributary/tenancy/resources'
import { installAttributor } from './install-attributor.ts'
import { countriesJob } from './jobs/countries.ts'
import { floodingJob } from './jobs/flooding.ts'
import { pendingJob } from './jobs/pending.ts'
import { redecisionsJob } from './jobs/redecisions.ts'
import { watchRedecisions } from './metrics.ts'
import { createWriterWait } from './writer-wait.ts'

/** Maximum time after which an install that waited long enough is decided. */
const pending_pause_ms = 60_000
/** A change of a day is worked out within two of these. */
const flooding_pause_ms = 60_000
/** Maximum time until re-decisions of an idle partition are begun. */
const redecisions_pause_ms = 500

/** Between two runs for installs without a country: others have most of the engine's time. */
const countries_pause_ms = 2000

/** Decides where installs came from. */
export const service = defineService({
  name: 'install-attributor',
  resources: {
    broker: kafkaEngine({ topics: [topics.installsFound, topics.installsAttributed, topics.clicksRecorded] }),
    clickhouse: clickhouseEngine({ complete_reads: true }),
    postgres: postgresEngine,
    masterKeys: masterKeysResource,
    erased: erasedRecordsResource,
    attributionApps: attributionAppsResource,
    redecisions: redecisionsResource,
    geo: geoResource(),
  },
  consumers: [
    (context) => {
      const wait = createWriterWait()
      context.troubles.push(wait.troubles)
      watchRedecisions(context.registry, context.redecisions)
      return installAttributor({ ...context, lookups: clickhouseLookups(context.clickhouse), wait })
    },
  ],
  jobs: [
    { name: 'pending_installs', pause_ms: pending_pause_ms, prepare: pendingJob },
    { name: 'redecisions', pause_ms: redecisions_pause_ms, prepare: redecisionsJob },
    { name: 'countries', pause_ms: countries_pause_ms, prepare: countriesJob },
    { name: 'click_flooding', pause_ms: flooding_pause_ms, prepare: floodingJob },
  ],
})
