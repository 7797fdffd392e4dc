/**
 * A lake in an object storage with the interface of S3. Credentials, region and endpoint are what the SDK finds, as
 * every tool of AWS: AWS_ACCESS_KEY_ID, AWS_PROFILE, a role of the machine, AWS_REGION, AWS_ENDPOINT_URL.
 */

import { createHash } from 'node:crypto';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { badArgument, type ErrorCode, messageOf, TidemarkError } from '../../../errors.ts';
import { conditionRemedy, type LakeStorage } from './storage.ts';

const maxAttempts = 5;
const parallel = 8;

/** @throws TidemarkError BAD_ARGUMENT */
export function bucketStorage(place: string): LakeStorage {
  const [, bucket, rest = ''] = /^s3:\/\/([^/]+)(?:\/(.*))?$/.exec(place) ?? [];
  if (bucket === undefined) throw badArgument(`${place} is no address such as s3://bucket/lake`);
  const prefix = rest.replace(/\/+$/, '');
  const name = prefix === '' ? `s3://${bucket}` : `s3://${bucket}/${prefix}`;
  const keyOf = (path: string) => (prefix === '' ? path : `${prefix}/${path}`);
  const client = new S3Client({
    maxAttempts,
    // Every storage knows this style of addresses, AWS included; not every one has a name for each bucket.
    forcePathStyle: true,
    // Other checksums than the one that is given are unknown to some storages.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });

  async function ask<Result>(code: ErrorCode, path: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw new TidemarkError(code, `s3://${bucket}/${keyOf(path)}: ${reasonOf(error)}`, {
        cause: error,
        ...remedyOf(error),
      });
    }
  }

  async function put(path: string, content: Uint8Array, condition: { readonly IfNoneMatch?: '*' }): Promise<void> {
    const digest = createHash('sha256').update(content).digest('base64');
    await client.send(
      new PutObjectCommand({ Bucket: bucket, Key: keyOf(path), Body: content, ChecksumSHA256: digest, ...condition }),
    );
  }

  return {
    ...{ name, parallel },
    locationOf: (path) => `s3://${bucket}/${keyOf(path)}`.replace(/\/$/, ''),
    async prepare() {},
    read: (path) =>
      ask('FILE_NOT_USABLE', path, async () => {
        try {
          const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: keyOf(path) }));
          return Buffer.from((await Body?.transformToByteArray()) ?? []);
        } catch (error) {
          if (error instanceof S3ServiceException && error.name === 'NoSuchKey') return null;
          throw error;
        }
      }),
    write: (path, content) => ask('FILE_NOT_WRITTEN', path, () => put(path, content, {})),
    create: (path, content) =>
      ask('FILE_NOT_WRITTEN', path, async () => {
        try {
          await put(path, content, { IfNoneMatch: '*' });
          return true;
        } catch (error) {
          if (error instanceof S3ServiceException && error.$metadata.httpStatusCode === preconditionFailed)
            return false;
          throw error;
        }
      }),
    remove: (path) =>
      ask('FILE_NOT_WRITTEN', path, async () => {
        await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: keyOf(path) }));
      }),
    async *list(start) {
      let token: string | undefined;
      do {
        const page = await ask('FILE_NOT_USABLE', start, () =>
          client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: keyOf(start), ContinuationToken: token })),
        );
        for (const { Key } of page.Contents ?? [])
          if (Key !== undefined) yield prefix === '' ? Key : Key.slice(prefix.length + 1);
        token = page.NextContinuationToken;
      } while (token !== undefined);
    },
  };
}

const preconditionFailed = 412;
const notImplemented = 501;

/** Errors of the connection have their message inside. */
function reasonOf(error: unknown): string {
  if (error instanceof S3ServiceException) {
    const { httpStatusCode } = error.$metadata;
    return [error.name, error.message, httpStatusCode === undefined ? '' : `(${httpStatusCode})`]
      .filter((part) => part !== '')
      .join(' ');
  }
  return error instanceof AggregateError && error.errors.length > 0 ? messageOf(error.errors[0]) : messageOf(error);
}

function remedyOf(error: unknown): { remedy: string } {
  const text = messageOf(error);
  if (/\bregion\b/i.test(text)) return { remedy: 'set AWS_REGION, to us-east-1 where the storage has no regions' };
  if (/credential/i.test(text)) return { remedy: 'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE' };
  if (!(error instanceof S3ServiceException)) return { remedy: 'check the network, and AWS_ENDPOINT_URL' };
  if (error.name === 'NoSuchBucket') return { remedy: 'create the bucket first' };
  // Of a conditional write: nothing else of ours is optional in the interface.
  const isUnknown = error.$metadata.httpStatusCode === notImplemented;
  return { remedy: isUnknown ? conditionRemedy : 'check the name of the bucket, the key and its rights' };
}
