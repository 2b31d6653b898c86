import { writeFileSync } from 'node:fs'
import { z } from 'zod'
import { configSchema } from './schema.ts'

const lineLengthMax = 110
/** A list of plain values over several lines, with the prefix of its first line. */
const plainList = /^( *.*)\[\n([^[\]{}]*)\n *\](,?)$/gm

/** The JSON Schema of a config file, with which editors complete and check the YAML. */
export function configJsonSchema(): string {
  // The input side: before `2MB` becomes a number and a text a URL.
  const schema = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' })
  const text = JSON.stringify({ title: 'Gateway configuration', ...schema }, null, 2)
  // Formatted as oxfmt does it, so that regenerating the file changes only what differs.
  return `${text.replace(plainList, onOneLine)}\n`
}

function onOneLine(whole: string, before: string, items: string, comma: string): string {
  const line = `${before}[${items.trim().replaceAll(/,\n */g, ', ')}]${comma}`
  return line.length <= lineLengthMax ? line : whole
}

if (import.meta.main)
  writeFileSync(new URL('../../config/gateway.schema.json', import.meta.url), configJsonSchema())
