import type { Finding, Interest, ScanResult } from '../http/json-scan.ts'
import type { NamedObject, ObjectKind } from '../money/usage.ts'
import { textOf } from './read-field.ts'

/** Findings whose name has this prefix, followed by the kind, are ids of objects. */
const objectPrefix = 'names:'
/** Addresses of files at Google: an uploaded file, or a place that the provider fetches. */
const fileAddress = 'mediaUri'

/** The id of an item that the request contains in full: no other account's, but its own or an unknown one. */
export const labelsItem = 'labels:item'

/** Ids of files that a text names by `fileid://` have this name: most providers read them as plain text. */
export const inTextName = 'inText'

/** A string that names an object of the provider, in a request or in a response. */
export function names(kind: ObjectKind): Interest {
  return { name: objectPrefix + kind, keep: 'value' }
}

/** An address at Google, which names a file if it is one of the provider's own. */
export const namesFile: Interest = { name: fileAddress, keep: 'value' }

/** Findings under this name are searched for addresses only: they are not media to measure. */
export const placeName = 'place'

/** https://developers.openai.com/api/docs/guides/tools-connectors-mcp: these use the client's own authorization. */
const connectorsOfAll: ReadonlySet<string> = new Set(
  `dropbox gmail googlecalendar googledrive microsoftteams outlookcalendar outlookemail sharepoint`
    .split(/\s+/)
    .map(name => `connector_${name}`),
)

/** Names that belong to no account, by kind. */
const isEverybodys: Partial<Record<ObjectKind, (text: string) => boolean>> = {
  // The provider's own skills have names such as `pptx`.
  skill: text => !text.startsWith('skill_'),
  connector: text => connectorsOfAll.has(text),
  // A new environment.
  environment: text => text === 'remote',
}

/**
 * The object that a string with a name of interest stands for; undefined if the name is of something else. The host of
 * an address says whether the address is a provider's own, and so whether its owner is checked.
 */
export function objectNamed(name: string, text: unknown): NamedObject | undefined {
  if (typeof text !== 'string' || text === '') return undefined
  if (name === fileAddress) return fileAt(text)
  if (name === labelsItem) return { kind: 'item', id: text, isLabel: true }
  if (!name.startsWith(objectPrefix)) return undefined
  const kind = name.slice(objectPrefix.length) as ObjectKind
  return isEverybodys[kind]?.(text) === true ? undefined : { kind, id: text }
}

/** Every object that a request's body names. */
export function objectsIn(scan: ScanResult): readonly NamedObject[] {
  const objects: NamedObject[] = []
  for (const finding of scan.findings) {
    const object = isObjectName(finding) ? objectNamed(finding.name, textOf(finding)) : objectAt(finding)
    if (object !== undefined) objects.push(object)
  }
  return objects
}

/** The files that the texts of a request's body name. */
export function filesInText({ findings }: ScanResult): readonly NamedObject[] | undefined {
  const found = findings.filter(({ name }) => name === inTextName)
  return found.length === 0 ? undefined : found.map(one => ({ kind: 'file', id: textOf(one) }))
}

/** The file that an address in a place for media names. */
function objectAt({ base64 }: Finding): NamedObject | undefined {
  return base64?.address === undefined ? undefined : fileBehind(base64.address)
}

/** Whether a finding is a string that names an object. */
export function isObjectName({ name, type }: Finding): boolean {
  return type === 'string' && namesObject(name)
}

/** Whether findings of this name are names of objects. */
export function namesObject(name: string): boolean {
  return name === fileAddress || name === labelsItem || name.startsWith(objectPrefix)
}

/** A file's name at Google, alone or behind folders that are not files. */
const fileName = /^\/*(?:(?!files\/|\.\.?\/)[\w.-]+\/)*(files\/[\w.-]+)(?::\w*)?\/?$/i
const scheme = /^([a-z][a-z0-9+.-]*):/i
/** Schemes that are fetched without a credential, unless the host is a provider's; `data` contains its content. */
const openSchemes: ReadonlySet<string> = new Set(['http', 'https', 'ws', 'wss', 'ftp', 'data'])

/**
 * `files/abc`, with or without the address of an API before it. Text without a scheme can only be a name at the
 * provider; text with one is an address, whose host is kept for code that knows the provider's hosts. Schemes outside
 * the web, `gs://` and `ms://`, are places that the provider reads with the operator's permissions.
 */
export function fileAt(text: string): NamedObject {
  const trimmed = text.trim()
  const named = scheme.exec(trimmed)?.[1]?.toLowerCase()
  if (named === undefined) return { kind: 'file', id: fileName.exec(text)?.[1] ?? text }
  if (!openSchemes.has(named)) {
    const behind = trimmed.slice(named.length + 1).replace(/^\/+/, '')
    return { kind: 'file', id: behind === '' ? text : behind }
  }
  // Nobody can fetch it, so it has no owner.
  if (!URL.canParse(trimmed)) return { kind: 'file', id: text }
  const { hostname, pathname } = new URL(trimmed)
  const id = fileName.exec(decoded(pathname))?.[1] ?? text
  return { kind: 'file', id, host: hostname.replace(/\.$/, '') }
}

const isPlace = /^[a-z][a-z0-9+.-]*:[/\\]|^https?:|^(?:file[-_]|(?:\/?v\d\w*\/)?files\/)/i

/** The file at an address in a place for media; undefined for text that only looks like an address. */
function fileBehind(address: string): NamedObject | undefined {
  const text = address.replaceAll(/[\t\n\r]/g, '')
  if (!isPlace.test(text)) return undefined
  // Text that begins like an address: it has no host to check.
  return /^https?:/i.test(text) && !URL.canParse(text) ? undefined : fileAt(text)
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return ''
  }
}
