import { writeFileSync } from 'node:fs'
import { buildCatalogue } from './build-catalogue.ts'
import { formatCatalogue } from './format-catalogue.ts'
import { readOwnData } from './own-data.ts'

const config = new URL('../config/', import.meta.url)

writeFileSync(new URL('catalogue.json', config), formatCatalogue(buildCatalogue(readOwnData())))
