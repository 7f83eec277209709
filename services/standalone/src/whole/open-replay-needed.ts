import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Service } from '@tributary/service-kit/service/run-service'
import {
  createReplayNeeded,
  type Noted,
  type ReplayNeeded,
} from '@tributary/service-kit/service/troubles/replay-needed'
import { z } from 'zod'
import { writePrivateFile } from '../local-secrets.ts'

const ReplayNeededFile = z.record(
  z.string(),
  z.object({ code: z.string(), message: z.string(), fix: z.string().optional(), refuses: z.boolean() }),
)

/** Keeps what only a replay fills in `replay-needed.json` of a data folder, so a start forgets none of it. */
export function openReplayNeeded(data_dir: string, { registry }: Pick<Service, 'registry'>): ReplayNeeded {
  const path = join(data_dir, 'replay-needed.json')
  const keep = (all: Noted) => writePrivateFile(path, `${JSON.stringify(all, null, 2)}\n`)
  return createReplayNeeded({ registry, known: readKept(path), keep })
}

function readKept(path: string): Noted {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
  try {
    return ReplayNeededFile.parse(JSON.parse(text)) as Noted
  } catch {
    const message = `${path} names what only a replay fills, and can't be read.`
    return { [path]: { code: 'events_lost', message, fix: 'npx tributary replay --from-audit', refuses: false } }
  }
}
