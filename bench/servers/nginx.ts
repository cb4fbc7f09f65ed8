/** nginx in front of a running server, with the lines of docs/proxies.md that affect speed, without TLS. */
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { processTree } from '../measure/cpu.js'
import { programVersion } from '../measure/machine.js'
import { freePort, startChild } from './child.js'
import type { Running } from './server.js'

/** Whether nginx is not installed. */
export const nginxMissing = programVersion('nginx', ['-v'], /(?<=nginx\/)[\d.]+/) === undefined

/** Starts one nginx worker, whose CPU time is added to the server's. */
export async function nginxBefore(server: Running, directory: string): Promise<Running> {
  const port = await freePort()
  const file = join(directory, 'nginx.conf')
  await writeFile(file, configuration(directory, port, server.port))
  const child = await startChild({
    command: 'nginx',
    args: ['-e', 'stderr', '-c', file],
    ready: { poll: () => accepts(port) },
  })
  return { ...server, port, pids: () => [...server.pids(), ...processTree(child.pid)], stop: () => child.stop() }
}

function configuration(directory: string, port: number, serverPort: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `daemon off;
master_process off;
pid ${directory}/nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${directory}/nginx-${name};`).join('\n  ')}
  upstream topicd { server 127.0.0.1:${serverPort}; keepalive 64; keepalive_timeout 7s; }
  server {
    listen 127.0.0.1:${port};
    keepalive_requests 1000000;
    gzip on;
    gzip_types application/json;
    gzip_proxied any;
    gzip_min_length 4096;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    location / { proxy_pass http://topicd; }
  }
}
`
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
