import { type DiskWatch, disk_look_ms, openDiskWatch } from '@tributary/service-kit/service/disk-watch'
import { every } from '@tributary/service-kit/service/every'
import type { Service } from '@tributary/service-kit/service/run-service'
import type { Settings } from '@tributary/service-kit/settings/read-settings'

/** Watches the disk of the data folder, which is that of every embedded engine, until the service closes. */
export async function watchDisk(
  config: Settings<'TRIBUTARY_DISK_FREE_MIN_BYTES'>,
  data_dir: string,
  service: Service,
): Promise<DiskWatch> {
  const { logger, registry, onClose, troubles } = service
  const disk = await openDiskWatch({
    folders: { data: data_dir },
    free_bytes_min: config.TRIBUTARY_DISK_FREE_MIN_BYTES,
    logger,
    registry,
  })
  troubles.push(disk.troubles)
  const looking = every({ name: 'disk_watch', pause_ms: disk_look_ms, logger, registry, work: disk.look })
  onClose('disk watch', () => looking.close())
  return disk
}
