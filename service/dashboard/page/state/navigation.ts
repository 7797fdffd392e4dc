/** Moves between views without a page load. */

let follow: () => void = () => {};

/** @param listener is called after each move; it reads the address. */
export function onNavigation(listener: () => void): void {
  follow = listener;
}

export function navigate(href: string): void {
  history.pushState(null, '', href);
  follow();
}
