import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { readableFile } from '../../arguments.ts'
import { readConfig, readEngineSettings } from '../../config.ts'
import { CliError } from '../../errors.ts'
import { print } from '../../output.ts'

const help = `
FILE is a database of countries or of networks (ASN), as CSV (first,last,DE or first,last,64500,name) or as MMDB of
ip-location-db, DB-IP or MaxMind. It replaces what is known of its kind for IPv4, IPv6 or both. Services take it up within a
minute from the folder TRIBUTARY_GEO_DIR, and standalone from the folder geo of its data folder. A damaged file changes
nothing, and a file that knows less than half of the addresses is refused without --even-if-smaller.
--json: {folder, tables: [{kind, family, ranges}]}`

interface Options {
  evenIfSmaller?: boolean
  json?: boolean
}

/** Adds `geo update`. */
export function geoCommands(program: Command): void {
  program
    .command('geo')
    .description('countries and datacenters of addresses: update')
    .command('update')
    .description('use a newer database of countries or of networks')
    .argument('<file>', 'CSV or MMDB file', readableFile)
    .option('--even-if-smaller', 'take a file that knows far fewer addresses')
    .addHelpText('after', help)
    .action(async (file: string, { evenIfSmaller, json }: Options) => {
      const { updateGeo } = await import('@tributary/geo/update')
      const { TRIBUTARY_GEO_DIR } = readEngineSettings(['TRIBUTARY_GEO_DIR'], [])
      const folder = resolve(TRIBUTARY_GEO_DIR ?? join(readConfig().data_dir, 'geo'))
      const tables = await updateGeo(resolve(file), folder, evenIfSmaller).catch(refuse)
      const lines = tables.map(({ kind, family, ranges }) => `${kind} of IPv${family}: ${ranges} ranges`)
      print(
        { json },
        { folder, tables },
        [...lines, `Services that read ${folder} use them within a minute.`].join('\n'),
      )
    })
}

function refuse(error: Error): never {
  throw error.name === 'BadGeoFile' ? new CliError('bad_geo_file', error.message) : error
}
