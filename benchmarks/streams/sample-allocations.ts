import { renameSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'

// Loaded into the gateway before it starts (`--import`): a SIGUSR2 begins to sample allocations, including those that
// die young, and the next one writes the samples to the file in ALLOCATIONS.

const samplingInterval = 512
const file = process.env['ALLOCATIONS'] ?? ''
const session = new Session()
session.connect()
let isSampling = false

process.on('SIGUSR2', () => {
  if (isSampling) {
    session.post('HeapProfiler.stopSampling', (error, result) => {
      if (error !== null) throw error
      writeFileSync(`${file}.part`, JSON.stringify(result.profile))
      renameSync(`${file}.part`, file)
    })
  } else {
    session.post('HeapProfiler.startSampling', {
      samplingInterval,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    })
  }
  isSampling = !isSampling
})
