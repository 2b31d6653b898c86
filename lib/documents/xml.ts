/** An element: its name, attributes in their order, and what is in it. An absent attribute is left out. */
export interface XmlElement {
  readonly name: string
  readonly attributes?: Readonly<Record<string, string | undefined>>
  readonly content?: readonly (XmlElement | undefined)[] | string
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, character => escapes[character] ?? '')
}

/** An element as text, without any space that it does not need: signatures are over these very bytes. */
export function writeXml({ name, attributes = {}, content = [] }: XmlElement): string {
  const written = Object.entries(attributes)
    .map(([key, value]) => (value === undefined ? '' : ` ${key}="${escaped(value)}"`))
    .join('')
  const inner =
    typeof content === 'string'
      ? escaped(content)
      : content.map(child => (child === undefined ? '' : writeXml(child))).join('')
  return inner === '' ? `<${name}${written}/>` : `<${name}${written}>${inner}</${name}>`
}
