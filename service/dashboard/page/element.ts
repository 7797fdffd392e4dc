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
  const body = rows.map((cells) =>
    element(
      'tr',
      { role: 'row' },
      ...cells.map((cell, place) => element('td', { role: 'cell', 'data-title': titles[place] ?? '' }, cell)),
    ),
  );
  return tableAround(element('tbody', { role: 'rowgroup' }, ...body), titles, caption);
}

/** Creates a table around a body whose rows change. */
export function tableAround(
  body: HTMLElement,
  titles: readonly string[],
  ...caption: readonly Child[]
): HTMLElement {
  const heads = titles.map((title) => element('th', { scope: 'col', role: 'columnheader' }, title));
  return element(
    'table',
    { class: 'cards', role: 'table' },
    element('caption', {}, ...caption),
    element('thead', { role: 'rowgroup' }, element('tr', { role: 'row' }, ...heads)),
    body,
  );
}

/** A section with the heading that names it. */
export function section(id: string, title: string, ...children: readonly Child[]): HTMLElement {
  return element('section', { 'aria-labelledby': id }, element('h2', { id }, title), ...children);
}

/** A section with a table. @param none text in its place when there are no rows. */
export function listSection(
  title: string,
  none: string,
  caption: string,
  titles: readonly string[],
  rows: readonly (readonly Child[])[],
): HTMLElement {
  const id = `part-${title.toLowerCase().replaceAll(/\W+/g, '-')}`;
  return section(id, title, rows.length === 0 ? element('p', {}, none) : table(caption, titles, rows));
}
