/** The contenders that other people wrote, or would write. */
import type { Contender } from './contender.js'
import { etcd } from './etcd.js'
import { fastify } from './fastify.js'
import { redis } from './redis.js'

export const peers: readonly Contender[] = [fastify, redis, etcd]
