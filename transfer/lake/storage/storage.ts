/** Where a lake is: a directory, or a prefix of a bucket. Paths are within the lake, with slashes. */

export interface LakeStorage {
  /** As it is shown, and locked: an absolute path, or `s3://bucket/prefix`. */
  readonly name: string;
  /** Files that are stored at the same time. */
  readonly parallel: number;
  /** Of a file, for other programs: `file:///...` or `s3://...`; of `''` that of the lake. */
  locationOf(path: string): string;
  /** Makes what is missing. @throws TidemarkError FILE_NOT_WRITTEN */
  prepare(): Promise<void>;
  /** @returns null: there is no such file. @throws TidemarkError FILE_NOT_USABLE */
  read(path: string): Promise<Buffer | null>;
  /** Replaces a file: a reader finds the previous one or this one. @throws TidemarkError FILE_NOT_WRITTEN */
  write(path: string, content: Uint8Array): Promise<void>;
  /** Writes a file, of several writers one. @returns false: there is one. @throws TidemarkError FILE_NOT_WRITTEN */
  create(path: string, content: Uint8Array): Promise<boolean>;
  /** Removes a file if there is one. @throws TidemarkError FILE_NOT_WRITTEN */
  remove(path: string): Promise<void>;
  /** Every path that begins so, in any order. @throws TidemarkError FILE_NOT_USABLE */
  list(prefix: string): AsyncIterable<string>;
}

/** For a storage whose `create` does not work. */
export const conditionRemedy = 'name a storage with conditional writes, or leave out --iceberg';
