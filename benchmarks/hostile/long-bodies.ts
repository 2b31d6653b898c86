import { gzipSync } from 'node:zlib'
import type { HostileBody } from './hostile-body.ts'

const path = '/v1/chat/completions'
const begin = '{"model":"bench-model","max_tokens":9,"messages":[{"role":"user","content":'

/** JSON that takes long to scan: deep, with very many names, with a long number, broken off, a bomb. */
export function longBodies(): readonly HostileBody[] {
  const names = Array.from({ length: 200_000 }, (_, index) => `"k${index}":1,`)
  const texts = [
    `${begin}${'['.repeat(200_000)}`,
    `{${names.join('')}`,
    `${begin}[{"type":"image_url","image_url":{"url":"data:image/png;base64,${'iVBORw0K'.repeat(2_500_000)}"}}]}]}`,
    `{"model":"bench-model","max_tokens":${'9'.repeat(1_000_000)},"messages":[]}`,
    `${begin}"${'a'.repeat(1_000_000)}`,
  ]
  const bomb = gzipSync(Buffer.from(`${begin}"${' '.repeat(100_000_000)}"}]}`))
  return [
    ...texts.map(text => ({ path, body: Buffer.from(text) })),
    { path, body: bomb, headers: { 'content-encoding': 'gzip' } },
  ]
}
