import { spawnSync } from 'node:child_process'
import t from 'tap'
import { survivors } from '../../benchmarks/guard/survivors.ts'

/** The collector's trace of a program. */
function traceOf(program: string): string {
  const { stdout } = spawnSync(
    process.execPath,
    ['--trace-gc-nvp', '--max-semi-space-size=1', '-e', program],
    {
      encoding: 'utf8',
    },
  )
  return stdout
}

await t.test('objects that a program keeps survive, and those that it drops do not', t => {
  const dropping = survivors(traceOf('for (let i = 0; i < 1e6; i++) globalThis.last = { i, list: [i] }'), 0)
  const keeping = survivors(
    traceOf('const all = []; for (let i = 0; i < 1e6; i++) all.push({ i, list: [i] })'),
    0,
  )

  t.ok(dropping.collections > 5, 'young collections are counted')
  t.ok(dropping.percent < 20, 'few of the dropped objects survive')
  t.ok(keeping.percent > 60, 'most of the kept objects survive')
  t.ok(keeping.fullCollections > 0, 'full collections are counted')
  t.end()
})

await t.test('only collections of the first thread after the byte offset count', t => {
  const line = (isolate: string, moved: number): string =>
    `[7:${isolate}:0]  9 ms: GC: {"gc":"s","new_space_survive_rate":1.5,"promotion_ratio":${moved}}\n`
  const before = line('0xa1', 90)

  const { collections, percent } = survivors(
    before + line('0xa1', 2) + line('0xb2', 50) + line('0xa1', 4),
    before.length,
  )

  t.equal(collections, 2)
  t.equal(percent, 4.5)
  t.end()
})

await t.test('the format of older versions of Node is read too', t => {
  const trace = '[7:0xa1]  9 ms: pause=3.5 gc=s promotion_ratio=9.7% new_space_survive_rate_=9.3%\n'

  t.equal(survivors(trace, 0).percent, 19)
  t.end()
})

await t.test('an unreadable trace is an error, not an empty result', t => {
  t.throws(() => survivors('[7:0xa1] something else\n', 0), /said nothing that could be read/)
  t.end()
})
