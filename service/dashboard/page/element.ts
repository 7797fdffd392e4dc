/** Creates elements. Text stays text: nothing here parses HTML. */

type Attributes = Readonly<Record<string, string | number | boolean>>;
export type Child = Node | string | null;

/** @param attributes false omits an attribute, true sets it without a value. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  setAttributes(made, attributes);
  fill(made, ...children);
  return made;
}

export function svgElement<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes,
  ...children: readonly Child[]
): SVGElementTagNameMap[Tag] {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  setAttributes(made, attributes);
  fill(made, ...children);
  return made;
}

export function fill(parent: Element, ...children: readonly Child[]): void {
  parent.replaceChildren(...children.filter((child) => child !== null));
}

/** Sets the text only when it differs, because screen readers announce every write to a live region. */
export function setText(parent: Element, text: string): void {
  if (parent.textContent !== text) parent.textContent = text;
}

function setAttributes(made: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) made.setAttribute(name, value === true ? '' : String(value));
  }
}

/** Creates a table with a caption and a head. */
export function table(
  caption: string,
  titles: readonly string[],
  rows: readonly (readonly Child[])[],
): HTMLElement {
  const head = element(
    'tr',
    { role: 'row' },
    ...titles.map((title) => element('th', { scope: 'col', role: 'columnheader' }, title)),
  );
  const body = rows.map((cells) =>
    element(
      'tr',
      { role: 'row' },
      ...cells.map((cell, place) => element('td', { role: 'cell', 'data-title': titles[place] ?? '' }, cell)),
    ),
  );
  return element(
    'table',
    { class: 'cards', role: 'table' },
    element('caption', {}, caption),
    element('thead', { role: 'rowgroup' }, head),
    element('tbody', { role: 'rowgroup' }, ...body),
  );
}
