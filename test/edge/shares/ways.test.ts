import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerHttp2Stream } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { after, suite, test } from 'node:test';
import type { Cleanup } from '../../support/cleanup.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { twoNodes } from '../../support/two-nodes.ts';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { RawAgent } from '../../tunnel/support/raw-agent.ts';
import { openWebSocketOverHttp2 } from '../traffic/web-socket.ts';

/** What the agent takes at once, besides its control stream. */
const STREAMS = 40;
const CONTROL_STREAMS = 1;
const SHARE = STREAMS / 2;
const OTHER = '127.0.0.2';

interface Ways {
  readonly agentAt: TunnelWorld;
  readonly visitorAt: TunnelWorld;
}

/** Where the visitor and the agent's only connection are. */
const PLACES: Readonly<Record<string, (test: Cleanup) => Promise<Ways>>> = {
  'the same thread': async (cleanup) => {
    const world = await TunnelWorld.open(cleanup);
    return { agentAt: world, visitorAt: world };
  },
  'threads of one node': async (cleanup) => {
    const world = await TunnelWorld.open(cleanup, { POSTERN_WORKERS: '2' });
    return { agentAt: world, visitorAt: world };
  },
  'two nodes': async (cleanup) => {
    const [agentAt, visitorAt] = await twoNodes(cleanup);
    return { agentAt, visitorAt };
  },
  'threads of two nodes': async (cleanup) => {
    const [agentAt, visitorAt] = await twoNodes(cleanup, { POSTERN_WORKERS: '2' });
    return { agentAt, visitorAt };
  },
};

class Held {
  readonly #worlds: Ways;
  readonly #agent: RawAgent;
  readonly open = new Set<ServerHttp2Stream>();
  readonly host: string;
  readonly tcpPort: number;

  private constructor(worlds: Ways, agent: RawAgent, host: string, tcpPort: number) {
    this.#worlds = worlds;
    this.#agent = agent;
    this.host = host;
    this.tcpPort = tcpPort;
    agent.onStream = (stream) => {
      this.open.add(stream);
      stream.once('close', () => this.open.delete(stream));
      stream.respond({ ':status': 200 });
      stream.resume();
    };
  }

  static async start(worlds: Ways): Promise<Held> {
    const agent = await RawAgent.greeted(
      worlds.agentAt,
      {},
      { maxConcurrentStreams: STREAMS + CONTROL_STREAMS, enableConnectProtocol: true },
    );
    const https = await agent.bind({ ref: 0, proto: 'https' });
    const tcp = await agent.bind({ ref: 1, proto: 'tcp' });
    assert.ok(https.t === 'bound' && tcp.t === 'bound', JSON.stringify([https, tcp]));
    const held = new Held(
      worlds,
      agent,
      new URL(https.public_url ?? '').hostname,
      Number(new URL((tcp.public_url ?? '').replace('tcp:', 'http:')).port),
    );
    await eventually('the node of the visitors knows the tunnel', async () => {
      const session = await worlds.visitorAt.edge.http2(held.host).catch(() => null);
      session?.destroy();
      return session !== null;
    });
    return held;
  }

  /** The status of a request whose response stays open. */
  async request(localAddress: string, method = 'GET'): Promise<number> {
    const session = await this.#worlds.visitorAt.edge.http2(this.host, { localAddress } as object);
    const stream = session.request({ ':method': method, ':path': '/', ':authority': this.host });
    stream.on('error', () => {});
    if (method === 'POST') stream.write('the beginning');
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    if (headers[':status'] !== 200) assert.equal(headers['postern-error-code'], 'ERR_POSTERN_TUNNEL_FULL');
    return Number(headers[':status']);
  }

  async webSocket(localAddress: string): Promise<number> {
    const session = await this.#worlds.visitorAt.edge.http2(this.host, { localAddress } as object);
    return openWebSocketOverHttp2(session, this.host).then(
      () => 200,
      (error: Error) => (error.message.includes('503') ? 503 : Promise.reject(error)),
    );
  }

  /** 200 for a connection that the agent has, 503 for one that was reset. */
  async connection(localAddress: string): Promise<number> {
    const before = this.open.size;
    const socket: Socket = connect({ host: '127.0.0.1', port: this.tcpPort, localAddress }).on('error', () => {});
    sockets.add(socket);
    await eventually('it is there, or reset', () => this.open.size > before || socket.destroyed);
    return socket.destroyed ? 503 : 200;
  }

  end(): void {
    this.#worlds.visitorAt.edge.disconnect();
    for (const socket of sockets) socket.destroy();
    this.#agent.destroy();
  }
}

const sockets = new Set<Socket>();

for (const [place, open] of Object.entries(PLACES)) {
  suite(`a visitor's share of an agent, with both on ${place},`, async () => {
    const worlds = await open({ after });
    for (const what of ['requests', 'uploads', 'WebSockets', 'connections'] as const) {
      test(`is half of it for ${what}`, async (t) => {
        const held = await Held.start(worlds);
        t.after(() => held.end());
        const ask = (address: string): Promise<number> => {
          if (what === 'WebSockets') return held.webSocket(address);
          return what === 'connections'
            ? held.connection(address)
            : held.request(address, what === 'uploads' ? 'POST' : 'GET');
        };
        for (let at = 0; at < SHARE; at += 1) assert.equal(await ask('127.0.0.1'), 200, `${at}`);
        const times: number[] = [];
        for (let at = 0; at < 3; at += 1) {
          const began = performance.now();
          assert.equal(await ask('127.0.0.1'), 503);
          times.push(performance.now() - began);
        }
        assert.ok(Math.min(...times) < 1_500, 'it does not wait as for an agent that may come back');
        for (let at = 0; at < SHARE / 2; at += 1) assert.equal(await ask(OTHER), 200, `another visitor, ${at}`);
        assert.equal(await ask(OTHER), 503);
        assert.equal(await ask('127.0.0.3'), 200);
        // What becomes free is there for everybody.
        for (const stream of held.open) stream.close();
        await eventually('all have ended', () => held.open.size === 0);
        assert.equal(await ask('127.0.0.1'), 200);
      });
    }
  });
}
