import t from 'tap'
import { newId } from '../../lib/platform/new-id.ts'

await t.test('ids are unique, and sort by creation time', t => {
  const ids = Array.from({ length: 10_000 }, () => newId(1_700_000_000_000))
  t.equal(new Set(ids).size, ids.length)
  t.match(ids[0], /^[0-9a-hjkmnp-tv-z]{26}$/)
  const later = [1, 31, 32, 1_700_000_000_000, 1_700_000_000_001, 9_999_999_999_999].map(ms => newId(ms))
  t.strictSame(later.toSorted(), later)
  t.end()
})
