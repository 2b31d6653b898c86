import t from 'tap'
import { deviceName } from '../../../../lib/web/pages/security/security.ts'

const webkit = 'AppleWebKit/537.36 (KHTML, like Gecko)'

await t.test('browsers and systems are recognised by their user agent', t => {
  const name = (userAgent: string): string => deviceName(userAgent, 'unknown')

  t.equal(
    name(`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/140 Safari/537.36`),
    'Chrome, Windows',
  )
  t.equal(
    name(`Mozilla/5.0 (Windows NT 10.0) ${webkit} Chrome/140 YaBrowser/26.1 Safari/537.36`),
    'Яндекс Браузер, Windows',
  )
  t.equal(
    name(`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) ${webkit} Chrome/140 Safari/537.36 Edg/140`),
    'Edge, macOS',
  )
  t.equal(name('Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'), 'Firefox, Linux')
  t.equal(
    name(`Mozilla/5.0 (Linux; Android 16) ${webkit} Chrome/140 Mobile Safari/537.36`),
    'Chrome, Android',
  )
  t.equal(name('curl/8.5.0'), 'curl/8.5.0')
  t.equal(name(''), 'unknown')
  t.end()
})
