/** Colours for what is drawn on a canvas: those of the style sheet, light or dark. */

const dark = matchMedia('(prefers-color-scheme: dark)');

/** @param name such as `--covered`. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** @returns ends it. */
export function onTheme(listener: () => void): () => void {
  dark.addEventListener('change', listener);
  return () => dark.removeEventListener('change', listener);
}
