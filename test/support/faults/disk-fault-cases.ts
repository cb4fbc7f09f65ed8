/** The cases of the proof with failing disks: in which scene which call fails on which file, and how. */
import { type DiskCall, type DiskFile, diskFiles, type Fault } from './faulty-disk.js'

const scenes = ['first start', 'start', 'service'] as const
export type Scene = (typeof scenes)[number]

const errors = ['EIO', 'ENOSPC'] as const

export interface DiskFaultCase {
  readonly name: string
  readonly scene: Scene
  readonly file: DiskFile
  readonly call: DiskCall
  readonly error: Fault['error']
}

/**
 * The calls that there are on each file: until the service is up, by the threads that open the store, and then, by the
 * thread that commits. A case without any call fails.
 */
const callsOf: Readonly<Record<Scene, Partial<Record<DiskFile, readonly DiskCall[]>>>> = {
  'first start': {
    lock: ['openat'],
    topics: ['openat', 'fsync'],
    'topics/new': ['openat'],
    'topics/data.mdb': ['openat', 'pwrite64', 'writev', 'fdatasync'],
    'topics/lock.mdb': ['openat', 'ftruncate'],
  },
  start: {
    lock: ['openat'],
    'topics/data.mdb': ['openat', 'pwrite64', 'fdatasync'],
    'topics/lock.mdb': ['openat'],
  },
  service: { 'topics/data.mdb': ['pwrite64', 'writev', 'fdatasync'] },
}

export const diskFaultCases: readonly DiskFaultCase[] = scenes.flatMap((scene) =>
  diskFiles.flatMap((file) =>
    (callsOf[scene][file] ?? []).flatMap((call) =>
      errors.map((error) => ({ name: `${scene}: ${call} of ${file}, ${error}`, scene, file, call, error })),
    ),
  ),
)
