import { readSettings } from '@tributary/service-kit/settings'

/** The settings of the standalone process; the only reader of its environment. */
export function readConfig() {
  const read = readSettings(process.env, [
    'TRIBUTARY_PORT',
    'TRIBUTARY_HOST',
    'TRIBUTARY_DATA_DIR',
    'TRIBUTARY_ADMIN_TOKEN',
    'TRIBUTARY_MASTER_KEY',
    'TRIBUTARY_TRUSTED_PROXIES',
    'TRIBUTARY_LOG_LEVEL',
  ])
  return {
    port: read.TRIBUTARY_PORT,
    host: read.TRIBUTARY_HOST,
    data_dir: read.TRIBUTARY_DATA_DIR,
    admin_token: read.TRIBUTARY_ADMIN_TOKEN,
    master_key: read.TRIBUTARY_MASTER_KEY,
    trusted_proxies: read.TRIBUTARY_TRUSTED_PROXIES,
    log_level: read.TRIBUTARY_LOG_LEVEL,
  }
}
export type Config = ReturnType<typeof readConfig>
