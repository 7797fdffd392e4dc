/** Moves between views, and between the choices within a view, without a page load. */

let follow: (isBack: boolean) => void = () => {};
/** What the newest entry of the history is a run of, such as movements of a chart; null: it is no run. */
let run: string | null = null;

/** @param listener is called after each move, also by Back and Forward; it reads the address. @returns removes it. */
export function onNavigation(listener: (isBack: boolean) => void): () => void {
  follow = (isBack) => {
    run = null;
    if (isBack) followed = null;
    listener(isBack);
  };
  const pop = () => follow(true);
  addEventListener('popstate', pop);
  return () => removeEventListener('popstate', pop);
}

/** Keeps the place on the page in its entry of the history, for the way back. */
export function keepPlace(): void {
  history.replaceState({ scrollY }, '');
}

let followed: Element | null = null;

/** The link that led to the newest entry of the history; null: another way did. */
export const followedLink = (): Element | null => followed;

/** @param link that is followed, if one is. */
export function navigate(href: string, link: Element | null = null): void {
  keepPlace();
  followed = link;
  history.pushState(null, '', href);
  follow(false);
}

/**
 * Puts a choice of the reader into the address, as an entry of the history: Back takes it back.
 *
 * @param runOf such as `range`: the choices of a run in a row are one entry, so that Back soon leaves the view.
 */
export function choose(href: string, runOf: string | null = null): void {
  if (new URL(href, location.href).href === location.href) return;
  if (runOf !== null && runOf === run) {
    history.replaceState(null, '', href);
    return;
  }
  keepPlace();
  history.pushState(null, '', href);
  run = runOf;
}
