/** A view or function that is derived from the tables: it holds no state of its own, and can be made again. */

export interface DerivedObject {
  /** With its schema; a function's with the types of its arguments in parentheses, as `to_regprocedure` takes them. */
  readonly name: string;
  /** Makes it, or replaces it where it stands: `create or replace`. */
  readonly create: string;
  readonly drop: string;
  /** For one that is made of rollups: frees them, as far as they are there, so that they can be dropped. */
  readonly detach?: string;
}
