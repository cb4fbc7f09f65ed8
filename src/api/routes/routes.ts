/** All routes of the API. A new route gets its own file and is added here. */
import { batchRoute } from './batch.js'
import { changesRoute } from './changes.js'
import { fetchRoute } from './fetch.js'
import { removeRoute } from './remove.js'
import type { ApiRoute } from './route.js'
import { addAndSetRoute, addRoute, setRoute } from './write.js'

/** In the order of the API description. */
export const apiRoutes: readonly ApiRoute[] = [
  fetchRoute,
  changesRoute,
  setRoute,
  addAndSetRoute,
  addRoute,
  removeRoute,
  batchRoute,
]
