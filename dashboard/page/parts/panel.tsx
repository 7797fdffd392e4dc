/**
 * A part of a view that opens and closes. Opened by a key it gets the focus, Escape closes it, and the focus goes back
 * to what opened it.
 */

import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { followedLink } from '../state/navigation.ts';

export function Panel(of: {
  readonly id: string;
  readonly label: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const { id, label, onClose, children } = of;
  const panel = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const { current } = panel;
    const { activeElement } = document;
    // Who opens it with a pointer goes on there.
    if (activeElement?.matches(':focus-visible') === true) current?.focus();
    // After a link the focus is at the beginning of the view.
    const opener = activeElement?.id === 'main' ? followedLink() : activeElement;
    return () => passFocus(current, opener);
  }, []);
  return (
    <section
      id={id}
      aria-label={label}
      tabIndex={-1}
      ref={panel}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !event.defaultPrevented) onClose();
      }}
    >
      {children}
    </section>
  );
}

/** Before an element with the focus goes: else Tab would begin at the top of the page. @param to if it is there. */
export function passFocus(from: Element | null, to: Element | null): void {
  if (from?.contains(document.activeElement) !== true) return;
  const isThere = to instanceof HTMLElement && to.isConnected && to !== document.body && !from.contains(to);
  const next = isThere ? to : document.getElementById('main');
  next?.focus({ preventScroll: !isThere });
}
