import type { LakeStorage } from './storage.ts';

/** @param place a directory, or `s3://bucket/prefix`. @throws TidemarkError BAD_ARGUMENT */
export async function openStorage(place: string): Promise<LakeStorage> {
  if (place.startsWith('s3://')) {
    // What it would print about Node 20 is nothing that a user of this version can act on.
    process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
    // The package takes a while to load.
    return (await import('./s3.ts')).bucketStorage(place);
  }
  return (await import('./directory.ts')).directoryStorage(place);
}
