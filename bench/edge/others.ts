import { execFile, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { HOST, MUTUAL_HOST } from './certificates.ts';
import type { Contender, ContenderOptions } from './contender.ts';

/**
 * The distribution's proxies, each with its own defaults, upstream connections kept, and X-Forwarded-* as Postern sets
 * them.
 */
interface Other {
  readonly name: string;
  readonly command: string;
  readonly versionArgs: readonly string[];
  readonly configFile: string;
  config(options: ContenderOptions, ports: Ports): string;
  args(configFile: string, directory: string): readonly string[];
}

interface Ports {
  readonly port: number;
  readonly mutualPort: number;
}

const caddy: Other = {
  name: 'caddy',
  command: 'caddy',
  versionArgs: ['version'],
  configFile: 'Caddyfile',
  args: (file) => ['run', '--config', file, '--adapter', 'caddyfile'],
  config: ({ directory, upstreamPort, certificates: c }, { port, mutualPort }) => `{
  admin off
  auto_https off
  storage file_system ${directory}
  log {
    level ERROR
  }
}
https://${HOST}:${port} {
  bind 127.0.0.1
  tls ${c.certificateFile} ${c.keyFile}
  encode /json* zstd gzip
  reverse_proxy 127.0.0.1:${upstreamPort} {
    transport http {
      keepalive_idle_conns_per_host 256
    }
  }
}
https://${MUTUAL_HOST}:${mutualPort} {
  bind 127.0.0.1
  tls ${c.certificateFile} ${c.keyFile} {
    client_auth {
      mode require_and_verify
      trusted_ca_cert_file ${c.clientAuthorityFile}
    }
  }
  reverse_proxy 127.0.0.1:${upstreamPort} {
    header_up X-Client-Subject {http.request.tls.client.subject}
    transport http {
      keepalive_idle_conns_per_host 256
    }
  }
}
`,
};

const nginx: Other = {
  name: 'nginx',
  command: 'nginx',
  versionArgs: ['-v'],
  configFile: 'nginx.conf',
  args: (file, directory) => ['-c', file, '-p', directory, '-e', 'stderr'],
  config: ({ directory, upstreamPort, certificates: c }, { port, mutualPort }) => {
    const proxied = (more: string): string => `proxy_pass http://upstream;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto https;
      proxy_set_header X-Forwarded-Host $host;${more}`;
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
    return `daemon off;
worker_processes auto;
worker_rlimit_nofile 16384;
pid ${directory}/nginx.pid;
events { worker_connections 8192; }
http {
  access_log off;
  ${paths.map((path) => `${path}_temp_path ${directory}/${path};`).join(' ')}
  keepalive_requests 1000000;
  upstream upstream { server 127.0.0.1:${upstreamPort}; keepalive 256; keepalive_requests 1000000; }
  ssl_certificate ${c.certificateFile};
  ssl_certificate_key ${c.keyFile};
  gzip_types application/json;
  gzip_proxied any;
  server {
    listen 127.0.0.1:${port} ssl http2;
    server_name ${HOST};
    location / { ${proxied('')} }
    location /json { gzip on; ${proxied('')} }
  }
  server {
    listen 127.0.0.1:${mutualPort} ssl http2;
    server_name ${MUTUAL_HOST};
    ssl_client_certificate ${c.clientAuthorityFile};
    ssl_verify_client on;
    location / { ${proxied(' proxy_set_header X-Client-Subject $ssl_client_s_dn;')} }
  }
}
`;
  },
};

const haproxy: Other = {
  name: 'haproxy',
  command: 'haproxy',
  versionArgs: ['-v'],
  configFile: 'haproxy.cfg',
  args: (file) => ['-db', '-q', '-f', file],
  config: ({ upstreamPort, certificates: c }, { port, mutualPort }) => `defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  option forwardfor
  http-reuse always
frontend open
  bind 127.0.0.1:${port} ssl crt ${c.togetherFile} alpn h2,http/1.1
  http-request set-header X-Forwarded-Proto https
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  compression algo gzip
  compression type application/json
  default_backend upstream
frontend mutual
  bind 127.0.0.1:${mutualPort} ssl crt ${c.togetherFile} alpn h2,http/1.1 ca-file ${c.clientAuthorityFile} verify required
  http-request set-header X-Forwarded-Proto https
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  http-request set-header X-Client-Subject %{+Q}[ssl_c_s_dn]
  default_backend upstream
backend upstream
  server one 127.0.0.1:${upstreamPort}
`,
};

export const others: readonly Other[] = [caddy, nginx, haproxy];

/** Null when it is not installed. */
export async function startOther(other: Other, options: ContenderOptions): Promise<Contender | null> {
  const version = await versionOf(other);
  if (version === null) return null;
  const ports = { port: await freePort(), mutualPort: await freePort() };
  const configFile = join(options.directory, other.configFile);
  await writeFile(configFile, other.config(options, ports));
  const child = spawn(other.command, other.args(configFile, options.directory), {
    env: { ...process.env, HOME: options.directory },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (said.length < 10_000) said += text;
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await Promise.race([
    listening(ports.mutualPort),
    exited.then(() => Promise.reject(new Error(`${other.name} ended: ${said}`))),
  ]);
  return {
    name: other.name,
    version,
    pid: child.pid as number,
    ...ports,
    stop: async () => {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

async function versionOf(other: Other): Promise<string | null> {
  try {
    const { stdout, stderr } = await promisify(execFile)(other.command, [...other.versionArgs]);
    return /\d+\.\d+[.\d]*/.exec(stdout + stderr)?.[0] ?? 'unknown';
  } catch {
    return null;
  }
}

/** These programs do not report which port they got, so one is chosen for them. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

async function listening(port: number): Promise<void> {
  for (const deadline = performance.now() + 10_000; performance.now() < deadline; ) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`nothing listens on ${port}`);
}
