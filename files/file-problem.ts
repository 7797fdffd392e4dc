/** What is wrong with a file, and what its user can do about it. {@link usable} of `formats.ts` adds the path. */
export class FileProblem extends Error {
  readonly remedy: string;

  constructor(message: string, remedy: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'FileProblem';
    this.remedy = remedy;
  }
}

/** The advice for a file that was damaged on its way. */
export const downloadAgain = 'download it again';
