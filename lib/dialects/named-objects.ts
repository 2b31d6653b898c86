import type { Finding, Interest, ScanResult } from '../http/json-scan.ts'
import type { NamedObject, ObjectKind } from '../money/usage.ts'
import { textOf } from './read-field.ts'

/** Findings under this name, with the kind behind it, are ids of objects. */
export const objectPrefix = 'names:'
/** Google's addresses of files: an uploaded file, or a place that the provider fetches. */
export const fileAddress = 'mediaUri'

/** A string that names an object of the provider, in a request or in an answer. */
export function names(kind: ObjectKind): Interest {
  return { name: objectPrefix + kind, keep: 'value' }
}

/** An address of Google's, which names a file where it is one of the provider's own. */
export const namesFile: Interest = { name: fileAddress, keep: 'value' }

/** https://developers.openai.com/api/docs/guides/tools-connectors-mcp: these take the client's own authorization. */
const connectorsOfAll: ReadonlySet<string> = new Set(
  [
    'dropbox',
    'gmail',
    'googlecalendar',
    'googledrive',
    'microsoftteams',
    'outlookcalendar',
    'outlookemail',
    'sharepoint',
  ].map(name => `connector_${name}`),
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
  if (!name.startsWith(objectPrefix)) return undefined
  const kind = name.slice(objectPrefix.length) as ObjectKind
  return isEverybodys[kind]?.(text) === true ? undefined : { kind, id: text }
}

/** Every object that a request's body names. */
export function objectsIn(scan: ScanResult): readonly NamedObject[] {
  const objects: NamedObject[] = []
  for (const finding of scan.findings) {
    const object = isObjectName(finding) ? objectNamed(finding.name, textOf(finding)) : undefined
    if (object !== undefined) objects.push(object)
  }
  return objects
}

/** Whether a finding is a text that stands for an object. */
export function isObjectName({ name, type }: Finding): boolean {
  return type === 'string' && (name === fileAddress || name.startsWith(objectPrefix))
}

const fileName = /(?:^|\/)(files\/[^/:?#]+)/i

/**
 * `files/abc`, with or without the address of an API before it. What has no scheme can be nothing but a name
 * of the provider's; what has one is an address, whose host is kept for who knows the provider's.
 */
export function fileAt(text: string): NamedObject {
  const isAddress = /^[a-z][a-z0-9+.-]*:/i.test(text.trim()) && URL.canParse(text)
  if (!isAddress) return { kind: 'file', id: fileName.exec(text)?.[1] ?? text }
  const { hostname, pathname } = new URL(text)
  // A name that cannot be decoded is nobody's.
  const id = fileName.exec(decoded(pathname))?.[1] ?? text
  return { kind: 'file', id, host: hostname.replace(/\.$/, '') }
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return ''
  }
}
