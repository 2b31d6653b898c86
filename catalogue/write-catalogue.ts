import { readFileSync, writeFileSync } from 'node:fs'
import { parse } from 'yaml'
import { buildCatalogue } from './build-catalogue.ts'
import type { WrittenModel } from './build-catalogue.ts'
import { formatCatalogue } from './format-catalogue.ts'
import { readOwnData } from './own-data.ts'

const config = new URL('../config/', import.meta.url)
const { models } = parse(readFileSync(new URL('models.yaml', config), 'utf8')) as {
  models: Record<string, WrittenModel>
}

writeFileSync(new URL('catalogue.json', config), formatCatalogue(buildCatalogue(readOwnData(), models)))
