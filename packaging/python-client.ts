/** Builds the packages of the Python client. Its own build chooses the files and gives them the date of the commit. */
import { join } from 'node:path'
import { root, run } from './run.js'

/** Builds the wheel and the sdist. @returns their files, in `out` */
export function buildPythonClient(version: string, out: string): readonly string[] {
  const built = run('python3', [join(root, 'clients/python/build_backend.py'), out, version], root)
  return built.trim().split('\n')
}
