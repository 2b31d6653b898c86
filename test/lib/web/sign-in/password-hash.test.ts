import t from 'tap'
import { hashPassword, verifyPassword } from '../../../../lib/web/sign-in/password-hash.ts'

await t.test('a hash verifies its own password and no other', async t => {
  const hash = await hashPassword('пароль с буквой ё')

  t.match(hash, /^scrypt\$16384\$8\$5\$/)
  t.equal(await verifyPassword({ hash, password: 'пароль с буквой ё' }), true)
  t.equal(
    await verifyPassword({ hash, password: 'пароль с буквой е\u0308' }),
    true,
    'in any Unicode normalisation',
  )
  t.equal(await verifyPassword({ hash, password: 'пароль с буквой е' }), false)
  t.not(await hashPassword('пароль с буквой ё'), hash, 'each hash has its own salt')
})

await t.test('an invalid hash verifies no password', async t => {
  const hash = await hashPassword('x')
  for (const odd of ['', 'x', 'salt:key', hash.slice(0, -1), hash.replace('scrypt', 'plain'), `${hash}A`])
    t.equal(await verifyPassword({ hash: odd, password: 'x' }), false, odd)
})

await t.test('concurrent verifications queue, and those beyond the limit are refused', async t => {
  const hash = await hashPassword('x')

  const all = await Promise.allSettled(
    Array.from({ length: 210 }, () =>
      verifyPassword({ hash: hash.replace('$16384$', '$2$'), password: 'x' }),
    ),
  )

  t.equal(all.filter(({ status }) => status === 'fulfilled').length, 202)
  t.equal(await verifyPassword({ hash, password: 'x' }), true, 'later verifications succeed')
})
