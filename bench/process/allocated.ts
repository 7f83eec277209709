import { Session } from 'node:inspector/promises'

/** On average so many allocated bytes have one sample. */
const sampled_bytes = 32_768

interface SampledNode {
  selfSize: number
  children: readonly SampledNode[]
}

/**
 * Estimates the bytes that this thread allocates on the heap of V8 from now on, collected meanwhile or not, until the function that it
 * returns is called. Buffers outside of the heap are not counted.
 */
export async function watchAllocated(): Promise<() => Promise<number>> {
  const session = new Session()
  session.connect()
  // Spread, since the types of Node lack two of them.
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
