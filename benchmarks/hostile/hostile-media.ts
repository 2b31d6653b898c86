import { mpeg, webm } from '../../test/fixtures/media/video-files.ts'
import { mediaQuestion, type MediaFile } from '../../test/fixtures/media/media-question.ts'
import { pdf, pdfBomb } from '../../test/fixtures/media/pdf-files.ts'
import { adts, mp3, ogg } from '../../test/fixtures/media/audio-files.ts'
import { pngOfSides } from '../../test/fixtures/small-images.ts'
import type { HostileBody } from './hostile-body.ts'

const path = '/v1beta/models/bench-model:generateContent'
const daySeconds = 86_400

/** Files that take long to measure: hours in a few bytes each, many pages, many images, bombs. */
export function hostileMedia(): readonly HostileBody[] {
  const page = Buffer.from(`<!doctype html>${'<p>'.repeat(300_000)}`)
  const questions: readonly (readonly MediaFile[])[] = [
    [{ type: 'audio/mpeg', data: mp3(7200) }],
    [{ type: 'audio/aac', data: adts(daySeconds) }],
    [{ type: 'audio/ogg', data: ogg(daySeconds / 4) }],
    [{ type: 'video/webm', data: webm(daySeconds, { isLive: true }) }],
    [{ type: 'video/mpeg', data: mpeg(daySeconds / 4) }],
    [{ type: 'application/pdf', data: pdf(20_000) }],
    [{ type: 'application/pdf', data: pdf(20_000, { isPacked: true }) }],
    [{ type: 'application/pdf', data: pdfBomb(100_000_000) }],
    [{ type: 'image/png', data: page }],
    Array.from({ length: 5000 }, () => ({ type: 'image/png', data: pngOfSides(9, 9) })),
  ]
  return questions.map(files => ({
    path,
    body: Buffer.from(JSON.stringify({ contents: mediaQuestion('google', files) })),
  }))
}
