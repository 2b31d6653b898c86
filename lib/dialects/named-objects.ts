import type { Finding, Interest, ScanResult } from '../http/json-scan.ts'
import type { NamedObject, ObjectKind } from '../money/usage.ts'
import { textOf } from './read-field.ts'

/** Findings under this name, with the kind behind it, are ids of objects. */
const objectPrefix = 'names:'
/** Google's addresses of files: an uploaded file, or a place that the provider fetches. */
const fileAddress = 'mediaUri'

/** The id of an item that stands there in full: nobody else's, and its own or one that nobody knows. */
export const labelsItem = 'labels:item'

/** Ids of files that a text names by `fileid://` are found under this name: to most providers a text is a text. */
export const inTextName = 'inText'

/** A string that names an object of the provider, in a request or in an answer. */
export function names(kind: ObjectKind): Interest {
  return { name: objectPrefix + kind, keep: 'value' }
}

/** An address of Google's, which names a file where it is one of the provider's own. */
export const namesFile: Interest = { name: fileAddress, keep: 'value' }

/** Findings under this name are looked at for addresses alone: they are no media that anybody measures. */
export const placeName = 'place'

/** https://developers.openai.com/api/docs/guides/tools-connectors-mcp: these take the client's own authorization. */
const connectorsOfAll: ReadonlySet<string> = new Set(
  `dropbox gmail googlecalendar googledrive microsoftteams outlookcalendar outlookemail sharepoint`
    .split(/\s+/)
    .map(name => `connector_${name}`),
)

/** What has a name beside those that somebody made. */
const isEverybodys: Partial<Record<ObjectKind, (text: string) => boolean>> = {
  // The providers' own are `pptx` and the like.
  skill: text => !text.startsWith('skill_'),
  connector: text => connectorsOfAll.has(text),
  // A new one.
  environment: text => text === 'remote',
}

/**
 * The object that a string under a name of interest stands for; undefined where the name is of something
 * else. Whether an address is one of the provider's own is told by its host: who owns it decides.
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

/** The files that texts of a request's body name. */
export function filesInText({ findings }: ScanResult): readonly NamedObject[] | undefined {
  const found = findings.filter(({ name }) => name === inTextName)
  return found.length === 0 ? undefined : found.map(one => ({ kind: 'file', id: textOf(one) }))
}

/** What an address names that was found where an image or the like may stand. */
function objectAt({ base64 }: Finding): NamedObject | undefined {
  return base64?.address === undefined ? undefined : fileBehind(base64.address)
}

/** Whether a finding is a text that stands for an object. */
export function isObjectName({ name, type }: Finding): boolean {
  return type === 'string' && namesObject(name)
}

/** Whether what is found under a name stands for an object. */
export function namesObject(name: string): boolean {
  return name === fileAddress || name === labelsItem || name.startsWith(objectPrefix)
}

/** A name of Google's, alone or behind folders that are no files themselves. */
const fileName = /^\/*(?:(?!files\/|\.\.?\/)[\w.-]+\/)*(files\/[\w.-]+)(?::\w*)?\/?$/i
const scheme = /^([a-z][a-z0-9+.-]*):/i
/** What is fetched without anybody's credential, unless its host is a provider's; or stands there itself. */
const openSchemes: ReadonlySet<string> = new Set(['http', 'https', 'ws', 'wss', 'ftp', 'data'])

/**
 * `files/abc`, with or without the address of an API before it. What has no scheme can be nothing but a name
 * of the provider's; what has one is an address, whose host is kept for who knows the provider's. Other schemes
 * than those of the web are places that the provider reads by the operator's right: `gs://`, `ms://`.
 */
export function fileAt(text: string): NamedObject {
  const trimmed = text.trim()
  const named = scheme.exec(trimmed)?.[1]?.toLowerCase()
  if (named === undefined) return { kind: 'file', id: fileName.exec(text)?.[1] ?? text }
  if (!openSchemes.has(named)) {
    const behind = trimmed.slice(named.length + 1).replace(/^\/+/, '')
    return { kind: 'file', id: behind === '' ? text : behind }
  }
  // Nobody can fetch it, and so nobody owns it.
  if (!URL.canParse(trimmed)) return { kind: 'file', id: text }
  const { hostname, pathname } = new URL(trimmed)
  const id = fileName.exec(decoded(pathname))?.[1] ?? text
  return { kind: 'file', id, host: hostname.replace(/\.$/, '') }
}

const isPlace = /^[a-z][a-z0-9+.-]*:[/\\]|^https?:|^(?:file[-_]|(?:\/?v\d\w*\/)?files\/)/i

/** The file at an address that stands in any place for one; undefined for a text that only looks like one. */
function fileBehind(address: string): NamedObject | undefined {
  const text = address.replaceAll(/[\t\n\r]/g, '')
  if (!isPlace.test(text)) return undefined
  // A text that begins like an address: there is no host to ask.
  return /^https?:/i.test(text) && !URL.canParse(text) ? undefined : fileAt(text)
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return ''
  }
}
