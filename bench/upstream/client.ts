import http from 'node:http';
import { Pool } from 'undici';
import { openUpstream } from '../../src/proxy/upstream/open-upstream.ts';

/**
 * One HTTP client under the same load as the others: `client.ts CLIENT PORT REQUESTS`. It prints its CPU time per
 * request. All of them read responses like a proxy: headers as a list, the body in chunks as they arrive.
 */
const [name = '', portText = '', countText = ''] = process.argv.slice(2);
const port = Number(portText);
const count = Number(countText);
const CONNECTIONS = 32;
const WARM_UP = 3000;
const HEADERS = ['accept', '*/*', 'user-agent', 'bench', 'x-forwarded-for', '192.0.2.1', 'x-request-id', '0123456789'];

type Send = (path: string) => Promise<number>;

const clients: Readonly<Record<string, () => Send>> = {
  postern: () => {
    const limits = {
      connectTimeoutMs: 5000,
      responseTimeoutMs: 30_000,
      idleTimeoutMs: 30_000,
      keepAliveMs: 30_000,
      maxIdleConnections: CONNECTIONS,
      maxHeaderBytes: 65_536,
      maxHeaderCount: 100,
    };
    const upstream = openUpstream({ host: '127.0.0.1', port, tls: null, limits, isAddressAllowed: () => true });
    const authority = `127.0.0.1:${port}`;
    return (target) =>
      new Promise((resolve, reject) => {
        let bytes = 0;
        upstream.send(
          { method: 'GET', target, authority, headers: HEADERS, body: { framing: 'none' }, switchTo: null },
          {
            onInformational: () => {},
            onHead: () => {},
            onSwitch: () => {},
            onData: (chunk) => {
              bytes += chunk.length;
              return true;
            },
            onEnd: () => resolve(bytes),
            onFailure: ({ message }) => reject(new Error(message)),
            onBug: reject,
          },
        );
      });
  },
  undici: () => {
    const pool = new Pool(`http://127.0.0.1:${port}`, { connections: CONNECTIONS, pipelining: 1 });
    return (path) =>
      new Promise((resolve, reject) => {
        let bytes = 0;
        pool.dispatch(
          { method: 'GET', path, headers: HEADERS },
          {
            onRequestStart: () => {},
            onResponseStart: () => {},
            onResponseData: (_controller, chunk) => {
              bytes += chunk.length;
            },
            onResponseEnd: () => resolve(bytes),
            onResponseError: (_controller, error) => reject(error),
          },
        );
      });
  },
  'node:http': () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS });
    return (path) =>
      new Promise((resolve, reject) => {
        let bytes = 0;
        http
          .request({ host: '127.0.0.1', port, path, agent, headers: HEADERS }, (response) => {
            response.on('data', (chunk: Buffer) => {
              bytes += chunk.length;
            });
            response.on('end', () => resolve(bytes));
          })
          .on('error', reject)
          .end();
      });
  },
};

const send = (clients[name] as () => Send)();
await run(WARM_UP);
const before = process.cpuUsage();
await run(count);
const { user, system } = process.cpuUsage(before);
process.stdout.write(`${(user + system) / count}\n`, () => process.exit());

async function run(requests: number): Promise<void> {
  let left = requests;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      if ((await send('/')) !== 1024) throw new Error('the response is incomplete');
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
}
