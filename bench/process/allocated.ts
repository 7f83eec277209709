import { Session } from 'node:inspector/promises'

/** One of so many allocated bytes is looked at. */
const sampled_bytes = 32_768

interface SampledNode {
  selfSize: number
  children: readonly SampledNode[]
}

/**
 * Counts what this thread allocates on the heap of V8 from now on, whether it is collected meanwhile or not, until the function that it
 * returns is called, which gives bytes. Unlike time it hardly depends on the machine.
 */
export async function watchAllocated(): Promise<() => Promise<number>> {
  const session = new Session()
  session.connect()
  await session.post('HeapProfiler.startSampling', {
    ...{
      samplingInterval: sampled_bytes,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    },
  })
  return async () => {
    const { profile } = await session.post('HeapProfiler.stopSampling')
    session.disconnect()
    return bytesOf(profile.head)
  }
}

const bytesOf = ({ selfSize, children }: SampledNode): number =>
  children.reduce((bytes, child) => bytes + bytesOf(child), selfSize)
