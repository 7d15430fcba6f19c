import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import type { Cleanup } from '../../support/cleanup.ts';
import { trustIn } from '../../support/edge-world.ts';
import { type PosternProcess, startPostern, startServerProcess } from '../../support/server-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** Server and agent as separate processes, as users run them, including the agent's inspector. */
export class TunnelProcesses {
  readonly server: PosternProcess;
  readonly agent: PosternProcess;
  readonly host: string;
  readonly port: number;
  readonly ca: readonly string[];

  private constructor(parts: Pick<TunnelProcesses, 'server' | 'agent' | 'host' | 'port' | 'ca'>) {
    this.server = parts.server;
    this.agent = parts.agent;
    this.host = parts.host;
    this.port = parts.port;
    this.ca = parts.ca;
  }

  static async open(test: Cleanup, localAddress: string): Promise<TunnelProcesses> {
    const dataDir = await tempDir(test);
    const token = `test-token-${randomBytes(24).toString('base64url')}`;
    const server = startServerProcess(test, dataDir, {
      env: {
        POSTERN_AUTHTOKEN: token,
        POSTERN_ACCESS_LOG: 'false',
        POSTERN_EDGE_CONNECTIONS_PER_ADDRESS: '0',
        // Among many streams of one connection some wait for long: that is caused by the test, not by a dead client.
        POSTERN_EDGE_SEND_TIMEOUT: '600',
      },
    });
    const { addresses } = await server.ready();
    const { edge, tunnel } = addresses as unknown as { edge: string; tunnel: string };
    const host = `traffic-${randomBytes(4).toString('hex')}.localhost`;
    const flags = ['--server-addr', tunnel, '--inspect-addr', '127.0.0.1:0', '--log-format', 'json'];
    const agent = startPostern(test, {
      args: ['http', localAddress, '--domain', host, ...flags],
      cwd: dataDir,
      env: { POSTERN_DATA_DIR: dataDir, POSTERN_AUTHTOKEN: token, HOME: dataDir, XDG_CONFIG_HOME: '' },
    });
    const port = Number(edge.split(':').at(-1));
    const processes = new TunnelProcesses({ server, agent, host, port, ca: trustIn(dataDir) });
    await processes.#online();
    return processes;
  }

  /** Resident memory of each, in bytes. */
  rss(): { readonly server: number; readonly agent: number } {
    return { server: rssOf(this.server), agent: rssOf(this.agent) };
  }

  async session(): Promise<ClientHttp2Session> {
    const { host, port, ca } = this;
    const socket = connectTls({ host: '127.0.0.1', port, servername: host, ca: [...ca], ALPNProtocols: ['h2'] });
    const session = connectHttp2(`https://${host}:${port}`, { createConnection: () => socket });
    await once(session, 'remoteSettings');
    return session.on('error', () => {});
  }

  async #online(): Promise<void> {
    const { child } = this.agent;
    while (!this.agent.stdout().includes(this.host)) {
      if (child.exitCode !== null) throw new Error(`the agent ended:\n${this.agent.stdout()}${this.agent.stderr()}`);
      await Promise.race([once(child.stdout as NodeJS.ReadableStream, 'data'), this.agent.exited]);
    }
    // A requested domain is announced before it is bound.
    for (;;) {
      const session = await this.session().catch(() => null);
      if (session === null) continue;
      const stream = session.request({ ':path': '/0' });
      const [headers] = await once(stream, 'response');
      stream.resume();
      session.close();
      if (headers[':status'] === 200) return;
    }
  }
}

function rssOf({ child }: PosternProcess): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024;
}
