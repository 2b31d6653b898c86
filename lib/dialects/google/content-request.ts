import type { Interest } from '../../http/json-scan.ts'
import { anyOf, base64, list, object, value } from '../interest.ts'
import { googleTool, toolInterest, toolsInterest } from '../search-tools.ts'
import { namesFile } from '../named-objects.ts'
import { videoMembers } from '../read-media.ts'

/** Keys are folded without underscores, since Google takes snake and camel case. */
function contentPart(): Interest {
  const members = new Map<string, Interest>([
    ['inlinedata', object({ mimetype: value('mediaType'), data: base64('media') })],
    ...Object.entries(videoMembers),
    ['filedata', object({ mimetype: value('mediaType'), fileuri: namesFile })],
  ])
  const part: Interest = { members }
  members.set('functionresponse', object({ parts: anyOf(list(part), part) }))
  return part
}

/** A part of a content: words, media, or an uploaded file by its name. */
export const part = contentPart()
/** Lists of one may be written without brackets. */
export const content = object({ parts: anyOf(list(part), part) })
/** A conversation: a list of contents, or the only one without brackets. */
export const contents = anyOf(list(content), content)

/** Tools of every method but `interactions`. */
export const tools = anyOf(list(googleTool), googleTool)
/** The tools of interactions have a type, as OpenAI's have. */
export const typedTools = toolsInterest(toolInterest())
