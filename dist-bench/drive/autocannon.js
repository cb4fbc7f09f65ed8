/**
 * autocannon as the driver: one process, warm from burst to burst. It compares every body in order, which makes it slow:
 * some tens of thousands of requests a second on one core, so that it, and not the server, is often the bottleneck.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageVersion } from '../measure/machine.js';
const program = fileURLToPath(new URL('autocannon-process.js', import.meta.url));
/** @param directory where jobs are handed over */
export function autocannonDriver(directory) {
    const child = fork(program, { execArgv: ['--max-old-space-size=4096'] });
    let settle;
    child.on('message', (burst) => settle?.resolve(burst));
    child.on('exit', (code) => settle?.reject(new Error(`autocannon's process ended (${code})`)));
    return {
        name: 'autocannon',
        version: `autocannon ${packageVersion('autocannon')}`,
        run: async (job) => {
            const file = join(directory, 'job.json');
            await writeFile(file, JSON.stringify(job));
            const burst = await new Promise((resolve, reject) => {
                settle = { resolve, reject };
                child.send(file);
            });
            await rm(file);
            return burst;
        },
        stop: async () => {
            const ended = once(child, 'exit');
            child.disconnect();
            await ended;
        },
    };
}
