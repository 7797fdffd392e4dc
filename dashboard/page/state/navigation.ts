/** Moves between views without a page load. */

let follow: () => void = () => {};

/** @param listener is called after each move; it reads the address. */
export function onNavigation(listener: () => void): void {
  follow = listener;
}

/** Keeps the place on the page in its entry of the history, for the way back. */
export function keepPlace(): void {
  history.replaceState({ scrollY }, '');
}

export function navigate(href: string): void {
  keepPlace();
  history.pushState(null, '', href);
  follow();
}
