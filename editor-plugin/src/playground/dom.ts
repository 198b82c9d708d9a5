/** Elements, made without markup: the page's policy allows no inline styles, and strings stay text. */

type Child = Node | string | undefined;

export function el<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

const SVG = 'http://www.w3.org/2000/svg';

export function svg(name: string, attributes: Readonly<Record<string, string | number>>, ...children: readonly Child[]): SVGElement {
  const element = document.createElementNS<'svg'>(SVG, name as 'svg') as SVGElement;
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, String(value));
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

/** What the page has under a name. Throws if it has none. */
export function byId<K extends keyof HTMLElementTagNameMap>(id: string, name: K): HTMLElementTagNameMap[K] {
  const element = document.querySelector<HTMLElementTagNameMap[K]>(`${name}#${id}`);
  if (element === null) {
    throw new Error(`the page has no <${name} id="${id}">`);
  }
  return element;
}
