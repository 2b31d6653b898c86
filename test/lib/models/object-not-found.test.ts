import t from 'tap'
import { objectNotFound } from '../../../lib/models/object-owner.ts'

await t.test('the message about a missing object names its kind and id', async t => {
  t.equal(
    objectNotFound({ kind: 'vectorStore', id: 'vs_1' }).message,
    'No vector store with the id "vs_1" was found.',
  )
  t.equal(
    objectNotFound({ kind: 'file', id: 'file-1', at: 'input' }).message,
    'input: No file with the id "file-1" was found.',
  )
})
