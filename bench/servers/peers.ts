/** Third-party servers, and the server that a developer would write instead. */
import { etcd } from './etcd.js'
import { fastify } from './fastify.js'
import { redis } from './redis.js'
import type { Server } from './server.js'

export const peers: readonly Server[] = [fastify, redis, etcd]
