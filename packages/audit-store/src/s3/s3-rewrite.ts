import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandInput,
  type ListObjectVersionsCommandOutput,
  PutObjectCommand,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import type { Rewritten } from '../audit-store.ts'

/** The bucket, and a call in it: bounded in time, with a slot of its own. */
export interface BucketCalls {
  client: S3Client
  bucket: string
  call<T>(work: (abortSignal: AbortSignal) => Promise<T>): Promise<T>
}

/** `If-Match` failed, or the object is gone. */
const isChanged = (error: unknown) =>
  error instanceof S3ServiceException && [404, 412].includes(error.$metadata.httpStatusCode ?? 0)

/**
 * Puts `content` in the place of `previous` on the condition that S3 still has the version that was compared. A bucket with
 * versions would keep the old one, so it is removed behind the put; a crash in between leaves that to the next call.
 */
export async function replaceObject(
  calls: BucketCalls,
  path: string,
  previous: Buffer,
  content: Buffer,
): Promise<Rewritten> {
  const found = await read(calls, path)
  if (!found?.content.equals(previous)) return 'changed'
  if (!content.equals(previous) && !(await putIfMatch(calls, path, content, found.etag))) return 'changed'
  await removeVersions(calls, path, { latest: false })
  return 'done'
}

/** Puts `rest` under another path, durably, then removes every version of the object. */
export async function eraseObject(
  calls: BucketCalls,
  { path, rest_path }: { path: string; rest_path: string },
  previous: Buffer,
  rest: Buffer,
): Promise<Rewritten> {
  const found = await read(calls, path)
  if (!found?.content.equals(previous)) return 'changed'
  const { client, bucket, call } = calls
  const input = { Bucket: bucket, Key: rest_path, Body: rest }
  await call((abortSignal) => client.send(new PutObjectCommand(input), { abortSignal }))
  await removeVersions(calls, path, { latest: true })
  return 'done'
}

async function read({ client, bucket, call }: BucketCalls, path: string) {
  return call(async (abortSignal) => {
    try {
      const found = await client.send(new GetObjectCommand({ Bucket: bucket, Key: path }), { abortSignal })
      return { content: Buffer.from((await found.Body?.transformToByteArray()) ?? []), etag: found.ETag }
    } catch (error) {
      if (isChanged(error) && (error as S3ServiceException).name !== 'NoSuchBucket') return null
      throw error
    }
  })
}

/** False when the object is another one now. */
async function putIfMatch(calls: BucketCalls, path: string, content: Buffer, etag: string | undefined) {
  const { client, bucket, call } = calls
  const input = { Bucket: bucket, Key: path, Body: content, IfMatch: etag }
  try {
    await call((abortSignal) => client.send(new PutObjectCommand(input), { abortSignal }))
    return true
  } catch (error) {
    if (!isChanged(error)) throw error
    // A try whose answer got lost may have put it.
    return (await read(calls, path))?.content.equals(content) ?? false
  }
}

/** Removes every version of an object. */
export const removeObject = (calls: BucketCalls, path: string): Promise<void> =>
  removeVersions(calls, path, { latest: true })

/** Removes all versions of an object, or all but the latest, which goes last: until then readers find an object that is whole. */
async function removeVersions(calls: BucketCalls, path: string, { latest }: { latest: boolean }): Promise<void> {
  const { client, bucket, call } = calls
  const remove = (VersionId: string | undefined) =>
    call((abortSignal) =>
      client.send(new DeleteObjectCommand({ Bucket: bucket, Key: path, VersionId }), { abortSignal }),
    )
  let newest: { VersionId?: string | undefined } | undefined
  for await (const page of versionPages(calls, path)) {
    for (const one of [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])]) {
      if (one.Key !== path) continue // another key that begins alike
      if (one.IsLatest) newest = one
      else await remove(one.VersionId)
    }
  }
  if (latest && newest !== undefined) await remove(newest.VersionId)
}

async function* versionPages({ client, bucket, call }: BucketCalls, path: string) {
  const input: ListObjectVersionsCommandInput = { Bucket: bucket, Prefix: path }
  for (;;) {
    const page: ListObjectVersionsCommandOutput = await call((abortSignal) =>
      client.send(new ListObjectVersionsCommand(input), { abortSignal }),
    )
    yield page
    if (!page.IsTruncated) return
    input.KeyMarker = page.NextKeyMarker
    input.VersionIdMarker = page.NextVersionIdMarker
  }
}
