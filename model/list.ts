/**
 * What a list is that is polled: a source gives only its present, so the stored history begins with the first poll.
 * Each list is one descriptor in `model/lists/`, from which statements, views, documents and commands derive what they
 * need. Its tables are created by a migration; `test/model/lists.test.ts` compares both.
 */

export type ListColumnType = 'text' | 'bigint' | 'numeric' | 'boolean' | 'timestamptz';

/** A field of an entry. */
export interface ListColumn {
  /** In SQL. */
  readonly name: string;
  /** In the interface. */
  readonly json: string;
  /** Times are UNIX milliseconds in JSON. */
  readonly type: ListColumnType;
  /** The comment of the column in SQL, where it says more than `schema/comments.ts` of any column of this name. */
  readonly about?: string;
}

export interface List {
  /** In SQL, documents and metrics. */
  readonly name: string;
  /** On the command line and in the watch list. */
  readonly word: string;
  /** The entries, and one of them. */
  readonly entries: string;
  readonly entry: string;
  readonly about: string;
  /**
   * Whether one request is for all entries, or for those of an asset. The asset is the first column of the key then.
   */
  readonly askedFor: 'all' | 'asset';
  /** Rows of a page; null: one request gives all. */
  readonly pageRows: number | null;
  /** Whether a poll stores the changed rows, or all of them, as points. */
  readonly keeps: 'changes' | 'every poll';
  /** Polled unless it is untracked, by `track lists` as well, or only when it is tracked by its name. */
  readonly polled: 'by default' | 'with all lists' | 'by name';
  /** Time between two polls, in the first two cases. */
  readonly everyMs: number;
  /** What identifies an entry. */
  readonly key: readonly [ListColumn, ...ListColumn[]];
  /**
   * Fields of which the newest value alone is stored. Those of `detailsOfNow` are only in the view of the newest state.
   */
  readonly details: readonly ListColumn[];
  readonly detailsOfNow: readonly ListColumn[];
  /** Fields whose every value is stored. */
  readonly values: readonly [ListColumn, ...ListColumn[]];
  readonly tables: {
    /** A row for each entry that was ever listed: its id, its key and its details. */
    readonly listed: string;
    /** A row for each change, or poll, by `id` and `time`. */
    readonly states: string;
    /** The column of `states` that names the entry. */
    readonly id: string;
  };
  /** Days in a new chunk of the states. */
  readonly chunkDays: number;
  /**
   * The view of the newest state, of which `<now>_at` is a function of time where changes are kept; and that of every
   * row.
   */
  readonly views: { readonly now: string; readonly every: string };
}

/** Names of the columns of the key in SQL, in their order. */
export function keyNames({ askedFor, key }: List): string[] {
  return [...(askedFor === 'asset' ? ['asset'] : []), ...key.map(({ name }) => name)];
}

/** Columns whose names are the fields of the interface, in snake case, with their types and comments. */
export function columnsOf(columns: Readonly<Record<string, ListColumnType | readonly [ListColumnType, string]>>) {
  const fieldOf = (name: string) => name.replace(/_(\d*[a-z])/g, (_, start: string) => start.toUpperCase());
  const [first, ...others] = Object.entries(columns).map(([name, given]): ListColumn => {
    const [type, about] = typeof given === 'string' ? [given] : given;
    return { name, json: fieldOf(name), type, ...(about === undefined ? {} : { about }) };
  });
  if (first === undefined) throw new Error('a list without values');
  return [first, ...others] as const;
}
