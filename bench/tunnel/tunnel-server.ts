import { globSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TunnelSpec } from '../../src/tunnel/agent/index.ts';
import { type Program, startPosternServer, startProgram } from '../support/start-program.ts';
import type { AgentProgramOptions } from './agent-program.ts';

const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url));
const TOKEN = 'bench-authtoken-0123456789abcdefghij';

/** A server with edge and gateway whose addresses stay the same after a restart. */
export interface TunnelServer {
  readonly program: Program;
  readonly edgePort: number;
  /** Port of the listener without TLS. */
  readonly httpPort: number;
  readonly tunnelPort: number;
  /** Whose source its agents run, too. */
  readonly checkout: string;
  /** A file with the certificates of its authorities. */
  readonly trust: string;
  readonly ca: readonly string[];
  /** Starts the same server again after this one has ended. */
  again(): Promise<TunnelServer>;
}

/** `checkout`: runs another checkout's source, for comparison. */
export async function startTunnelServer(
  directory: string,
  checkout = CHECKOUT,
  more: Readonly<Record<string, string>> = {},
): Promise<TunnelServer> {
  const ports = { edge: await freePort(), http: await freePort(), tunnel: await freePort() };
  const dataDir = join(directory, 'server');
  await mkdir(dataDir, { recursive: true });
  const start = async (): Promise<TunnelServer> => {
    const env = {
      POSTERN_ROLES: 'api,edge,gateway',
      POSTERN_EDGE_LISTEN: `127.0.0.1:${ports.edge}`,
      POSTERN_EDGE_HTTP_LISTEN: `127.0.0.1:${ports.http}`,
      POSTERN_TUNNEL_LISTEN: `127.0.0.1:${ports.tunnel}`,
      POSTERN_AUTHTOKEN: TOKEN,
      POSTERN_ACCESS_LOG: 'false',
      POSTERN_LOG_LEVEL: 'info',
      POSTERN_EDGE_CONNECTIONS_PER_ADDRESS: '0',
      ...more,
    };
    const program = await startPosternServer(dataDir, env, checkout);
    const files = globSync('internal-ca/*/certificate.pem', { cwd: dataDir });
    const ca = files.map((file) => readFileSync(join(dataDir, file), 'utf8'));
    const trust = join(directory, 'trust.pem');
    await writeFile(trust, ca.join('\n'));
    const { edge: edgePort, http: httpPort, tunnel: tunnelPort } = ports;
    return { program, edgePort, httpPort, tunnelPort, checkout, trust, ca, again: start };
  };
  return start();
}

/** Agents in one process. `port`: where they connect, if not to the server's own port. */
export function startAgents(
  server: TunnelServer,
  agents: readonly (readonly TunnelSpec[])[],
  port = server.tunnelPort,
): Promise<Program> {
  const options: AgentProgramOptions = {
    serverAddr: `127.0.0.1:${port}`,
    authtoken: TOKEN,
    ca: server.trust,
    agents,
  };
  return startProgram([join(server.checkout, 'bench', 'tunnel', 'agent-program.ts')], {
    BENCH_AGENT: JSON.stringify(options),
  });
}

/** The agent as users start it: `postern http`. */
export function startAgentCommand(
  { checkout, tunnelPort, trust }: TunnelServer,
  upstreamPort: number,
  env: Readonly<Record<string, string>> = {},
): Promise<Program> {
  const flags = ['--server-addr', `127.0.0.1:${tunnelPort}`, '--root-ca', trust, '--log-format', 'json'];
  return startProgram(
    [join(checkout, 'bin', 'postern.mjs'), 'http', String(upstreamPort), ...flags],
    { POSTERN_AUTHTOKEN: TOKEN, ...env },
    /"event":"bound".*"url":"([^"]+)"/,
  );
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
