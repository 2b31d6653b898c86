// npm 10 takes a package with a binding.gyp for one that must be compiled, unless the lockfile says `gypfile: false`,
// and every npm that writes the lockfile leaves that out. better-sqlite3 brings its binaries: without this line
// `npm ci` asks Node 20 and 22 for Python and a compiler. Run by npm (`dependencies` in package.json).
import { readFileSync, writeFileSync } from 'node:fs'

const file = new URL('../package-lock.json', import.meta.url)
const text = readFileSync(file, 'utf8')
const kept = text.replace(
  /("node_modules\/better-sqlite3": \{\n)((?:(?!\n {4}\}).)*?)( {6}"engines")/s,
  (whole, head, members, engines) =>
    members.includes('"gypfile"') ? whole : `${head}${members}      "gypfile": false,\n${engines}`,
)
if (kept !== text) writeFileSync(file, kept)
