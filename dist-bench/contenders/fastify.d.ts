import type { Contender } from './contender.js';
export declare const fastify: Contender;
