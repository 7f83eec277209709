import { openGeo } from '@tributary/geo/open-geo'
import { expect, it } from 'vitest'
import { emptyFolder, fileWith, tributary } from '../run-tributary.ts'

it('geo update puts a newer database where the services read it', async () => {
  const file = await fileWith('asn.csv', '9.9.9.0,9.9.9.255,24940,"Hetzner, Online"\n')
  const data_dir = await emptyFolder()
  const update = (...more: string[]) =>
    tributary(['geo', 'update', file, '--json', ...more], { TRIBUTARY_DATA_DIR: data_dir })
  const refused = await update()
  expect([refused.code, JSON.parse(refused.stderr).error]).toEqual([1, 'bad_geo_file'])
  expect(JSON.parse(refused.stderr).message).toContain('--even-if-smaller')
  const { code, stdout } = await update('--even-if-smaller')
  const { folder, tables } = JSON.parse(stdout)
  expect([code, tables]).toEqual([0, [{ kind: 'datacenters', family: 4, ranges: 1 }]])
  expect(folder).toBe(`${data_dir}/geo`)
  expect((await openGeo(folder)).lookUp('9.9.9.9')).toEqual({ country: 'US', datacenter: true })
})

it('geo update takes the folder of its setting, and refuses a file that is no database', async () => {
  const folder = await emptyFolder()
  const html = await fileWith('download.csv', '<html>Not found</html>')
  const env = { TRIBUTARY_GEO_DIR: folder }
  const { code, stderr } = await tributary(['geo', 'update', html, '--json'], env)
  expect([code, JSON.parse(stderr)]).toEqual([1, { error: 'bad_geo_file', message: expect.stringContaining('Line 1') }])
  const missing = await tributary(['geo', 'update', `${folder}/none.mmdb`, '--json'], env)
  expect([missing.code, JSON.parse(missing.stderr).error]).toEqual([1, 'file_not_found'])
})
