import t from 'tap'
import { hashPassword, verifyPassword } from '../../../../lib/web/sign-in/password-hash.ts'

await t.test('a password is known by its hash, and by no other', async t => {
  const hash = await hashPassword('пароль с буквой ё')

  t.match(hash, /^scrypt\$16384\$8\$5\$/)
  t.equal(await verifyPassword({ hash, password: 'пароль с буквой ё' }), true)
  t.equal(await verifyPassword({ hash, password: 'пароль с буквой е\u0308' }), true, 'however it is composed')
  t.equal(await verifyPassword({ hash, password: 'пароль с буквой е' }), false)
  t.not(await hashPassword('пароль с буквой ё'), hash, 'each has a salt of its own')
})

await t.test('what is no hash is nobody’s', async t => {
  const hash = await hashPassword('x')
  for (const odd of ['', 'x', 'salt:key', hash.slice(0, -1), hash.replace('scrypt', 'plain'), `${hash}A`])
    t.equal(await verifyPassword({ hash: odd, password: 'x' }), false, odd)
})

await t.test('many at once take their turns, and too many are refused', async t => {
  const hash = await hashPassword('x')

  const all = await Promise.allSettled(
    Array.from({ length: 210 }, () =>
      verifyPassword({ hash: hash.replace('$16384$', '$2$'), password: 'x' }),
    ),
  )

  t.equal(all.filter(({ status }) => status === 'fulfilled').length, 202)
  t.equal(await verifyPassword({ hash, password: 'x' }), true, 'and then it goes on')
})
