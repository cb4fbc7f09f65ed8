/** A run from its options to its last line: contenders found, drivers started, workloads measured, results shown. */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { bare } from './contenders/bare.js';
import { etcd } from './contenders/etcd.js';
import { fastify } from './contenders/fastify.js';
import { redis } from './contenders/redis.js';
import { thisBuild, topicd } from './contenders/topicd.js';
import { autocannonDriver } from './drive/autocannon.js';
import { wrkDriver } from './drive/wrk.js';
import { measure } from './measure/interleave.js';
import { machine } from './measure/machine.js';
import { promisesKept } from './measure/promises.js';
import { UsageError } from './options.js';
import { promiseTable, ratioTable, resultLines, verdicts } from './report/table.js';
/** Topics of a tree in a smoke run: two whole groups, or one small one where values are big. */
const smokeTopics = 2000;
const smokeBigTopics = 50;
const bigBytesMin = 10_000;
/** Runs what the options ask for. @returns whether all answers were right */
export async function bench(options) {
    const all = [bare, await topicd(thisBuild), fastify, redis, etcd];
    const contenders = chosen(all, options);
    return withSession(options, contenders, async (session) => {
        const results = [];
        for (const workload of options.workloads) {
            const taking = contenders.filter(({ name }) => workload.contenders === 'all' || name === 'bare' || name === 'topicd');
            const result = await measure(workload, scaleOf(workload, options), taking, session.measuring);
            results.push(result);
            session.say(`\n${resultLines(result).join('\n')}`);
        }
        const promises = await promisesKept(contenders, options.workers, session.measuring.homes);
        show(options, session, results, promises);
        return results.every((result) => result.outcomes.every(({ problem }) => problem === undefined));
    });
}
/** Sets a run up, runs `body`, and takes everything down again, whatever happens. */
export async function withSession(options, contenders, body) {
    const say = (text) => (options.json ? console.error(text) : console.log(text));
    const temporary = await mkdtemp(join(options.temporary, 'topicd-bench-run-'));
    const orderedDriver = autocannonDriver(temporary);
    try {
        const driver = options.driver === 'wrk' ? installedWrk(temporary) : orderedDriver;
        const versions = [...contenders, ...new Set([driver, orderedDriver])].map(({ version }) => version);
        const about = machine(temporary, versions.filter((version) => version !== undefined));
        say(about.line);
        for (const warning of about.warnings)
            say(`WARNING: ${warning}`);
        const homes = { kept: options.kept, temporary, say };
        const { rounds, seconds, workers } = options;
        return await body({ measuring: { rounds, seconds, workers, homes, driver, orderedDriver }, machine: about, say });
    }
    finally {
        await orderedDriver.stop();
        await rm(temporary, { recursive: true, force: true });
    }
}
/** The scale of a workload under the options. */
export function scaleOf(workload, options) {
    const { scale } = workload;
    const small = scale.valueBytes >= bigBytesMin ? smokeBigTopics : smokeTopics;
    return {
        topics: options.topics ?? (options.smoke ? small : scale.topics),
        connections: options.connections ?? (options.smoke ? Math.min(scale.connections, 16) : scale.connections),
        valueBytes: options.valueBytes ?? scale.valueBytes,
        pageSize: options.pageSize ?? scale.pageSize,
    };
}
/** The contenders asked for; all that can run when none are named. Says loudly who is left out. */
function chosen(all, options) {
    const wanted = options.contenders ?? all.map(({ name }) => name);
    for (const name of wanted) {
        if (!all.some((contender) => matches(contender, name)))
            throw new UsageError(`there is no contender ${name}`);
    }
    const asked = all.filter((contender) => wanted.some((name) => matches(contender, name)));
    for (const { name, missing } of asked) {
        if (missing === undefined)
            continue;
        if (name === 'topicd' || options.contenders !== undefined)
            throw new UsageError(`${name} can not run: ${missing}`);
        console.error(`LEFT OUT: ${name}, since ${missing}.`);
    }
    return asked.filter(({ missing }) => missing === undefined);
}
function matches(contender, name) {
    return contender.name === name || contender.name.split(' ')[0] === name;
}
function installedWrk(temporary) {
    const driver = wrkDriver(temporary);
    if (driver === undefined)
        throw new UsageError('--driver wrk: wrk is not installed');
    return driver;
}
function show(options, session, results, promises) {
    const { machine, say } = session;
    if (options.json) {
        console.log(JSON.stringify({ machine, workers: options.workers, results, promises }, undefined, 2));
        return;
    }
    say(`\n${ratioTable(results).join('\n')}\n\n${promiseTable(promises).join('\n')}`);
    const missed = results.flatMap((result) => verdicts(result).filter(({ met }) => !met).map(({ words }) => `${result.workload}: ${words}`));
    if (missed.length > 0)
        say(`\n${missed.join('\n')}`);
}
