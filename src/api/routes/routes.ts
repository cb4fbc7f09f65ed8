/** All routes of the API. A new one is written in a file of its own, and listed here. */
import { batchRoute } from './batch.js'
import { changesRoute } from './changes.js'
import { fetchRoute } from './fetch.js'
import { removeRoute } from './remove.js'
import type { ApiRoute } from './route.js'
import { addAndSetRoute, addRoute, setRoute } from './write.js'

/** In the order in which the API description shows them. */
export const apiRoutes: readonly ApiRoute[] = [
  fetchRoute,
  changesRoute,
  setRoute,
  addAndSetRoute,
  addRoute,
  removeRoute,
  batchRoute,
]
