const brands = new Map([
  ['avif', 'image/avif'],
  ['avis', 'image/avif'],
  ['heic', 'image/heic'],
  ['heix', 'image/heic'],
  ['heim', 'image/heic'],
  ['heis', 'image/heic'],
  ['hevc', 'image/heic'],
  ['hevx', 'image/heic'],
  ['mif1', 'image/heif'],
  ['msf1', 'image/heif'],
  ['M4A ', 'audio/mp4'],
  ['M4B ', 'audio/mp4'],
  ['M4P ', 'audio/mp4'],
  ['F4A ', 'audio/mp4'],
  ['qt  ', 'video/quicktime'],
])

/** Boxes that QuickTime files without a brand begin with. */
const unbranded = new Set(['moov', 'mdat', 'wide'])

/** The ISO base media family (MP4, MOV, M4A, HEIC, AVIF), told apart by the brands of the first box. */
export function isoMediaType(head: Buffer): string | undefined {
  if (head.length < 12) return undefined
  const box = head.toString('latin1', 4, 8)
  if (unbranded.has(box)) return 'video/quicktime'
  if (box !== 'ftyp') return undefined
  const major = head.toString('latin1', 8, 12)
  const size = Math.min(head.readUInt32BE(0), head.length)
  const named = brands.get(major)
  // `mif1` says picture only; the compatible brands say which coding.
  if (named !== undefined && named !== 'image/heif') return named
  for (let offset = 16; named !== undefined && offset + 4 <= size; offset += 4) {
    const compatible = brands.get(head.toString('latin1', offset, offset + 4))
    if (compatible === 'image/avif' || compatible === 'image/heic') return compatible
  }
  if (named !== undefined) return named
  return major.startsWith('3g') ? 'video/3gpp' : 'video/mp4'
}
