import { useState } from 'preact/hooks';
import { formatCount } from './format.ts';

/** @returns the first rows, and the button that shows all; without a button: there are no more. */
export function useFolded<Row>(rows: readonly Row[], first: number) {
  const [isWhole, setWhole] = useState(false);
  const isFolded = rows.length > first && !isWhole;
  return {
    shown: isFolded ? rows.slice(0, first) : rows,
    button: isFolded && (
      <button type="button" onClick={() => setWhole(true)}>
        Show all {formatCount(rows.length)}
      </button>
    ),
  };
}
