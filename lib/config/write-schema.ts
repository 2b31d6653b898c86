import { writeFileSync } from 'node:fs'
import { configJsonSchema } from './json-schema.ts'

writeFileSync(new URL('../../config/gateway.schema.json', import.meta.url), configJsonSchema())
