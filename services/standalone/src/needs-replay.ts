import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createReplayNeeded, type NeedsReplay, type ReplayNeeded } from '@tributary/service-kit/service/replay-needed'
import type { Service } from '@tributary/service-kit/service/run-service'
import { z } from 'zod'
import { writePrivateFile } from './local-secrets.ts'

const NeedsReplayFile = z.record(
  z.string(),
  z.object({ code: z.string(), message: z.string(), fix: z.string().optional(), refuses: z.boolean() }),
)

/** Keeps what only a replay fills in `needs-replay.json` of a data folder, so a start forgets none of it. */
export function openReplayNeeded(data_dir: string, { registry }: Pick<Service, 'registry'>): ReplayNeeded {
  const path = join(data_dir, 'needs-replay.json')
  const keep = (all: NeedsReplay) => writePrivateFile(path, `${JSON.stringify(all, null, 2)}\n`)
  return createReplayNeeded({ registry, known: readKept(path), keep })
}

function readKept(path: string): NeedsReplay {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
  try {
    return NeedsReplayFile.parse(JSON.parse(text)) as NeedsReplay
  } catch {
    const message = `${path} names what only a replay fills, and can't be read.`
    return { [path]: { code: 'events_lost', message, fix: 'npx tributary replay --from-audit', refuses: false } }
  }
}
