import t from 'tap'
import { callConfig } from '../fixtures/dialect-call.ts'
import { startFilesProvider } from '../fixtures/files-provider.ts'
import { startPostgres } from '../fixtures/postgres-server.ts'
import { serveProcess } from '../fixtures/serve-process.ts'
import { startTestGateway } from '../fixtures/test-gateway.ts'
import { uploadWays } from '../fixtures/upload-ways.ts'

const uploads = { filesMax: 5, bytesMax: 10_000 }
/** More uploads than fit, in every way of uploading. */
const many = Array.from({ length: 18 }, (_, index) => index)

/** Uploads in every way at once, at these gateways; returns how many were accepted. */
async function uploadMany(
  callers: readonly { readonly url: string; readonly key: string }[],
): Promise<number> {
  const answers = await Promise.all(
    many.map(async index => {
      const caller = callers[index % callers.length]
      return caller && (await uploadWays[index % uploadWays.length]?.upload(caller, 10))
    }),
  )
  return answers.filter(uploaded => uploaded?.answer.status === 200).length
}

await t.test('two nodes on PostgreSQL bound the uploads of an account together', async t => {
  const server = await startPostgres(t)
  const provider = await startFilesProvider(t)
  const config = { ...callConfig(provider.origin, {}, { uploads }), store: await server.createDatabase() }
  const first = await startTestGateway(t, { config })
  const second = await startTestGateway(t, { config, beside: first })

  t.equal(await uploadMany([first, second]), 5)
  t.equal(provider.files.size, 5)

  await first.gateway.close(1000)
  t.equal(await uploadMany([second]), 0, 'the counts of a node outlive it')
  t.same(await second.breaches(), [])
})

await t.test('two workers bound the uploads of an account together', async t => {
  const provider = await startFilesProvider(t)
  const gateway = await serveProcess(t, { config: callConfig(provider.origin, {}, { uploads, workers: 2 }) })

  t.equal(await uploadMany([gateway]), 5)
  t.equal(provider.files.size, 5)
  t.equal(await uploadMany([gateway]), 0)
  t.same(await gateway.breaches(), [])
})
