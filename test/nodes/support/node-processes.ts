import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { ApiConnection } from '../../support/api-connection.ts';
import type { Cleanup } from '../../support/cleanup.ts';
import { freshDatabase, startPostgres } from '../../support/postgres.ts';
import { startServerProcess } from '../../support/server-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

const API_KEY = 'node-processes-api-key-0123456789abcdef';

/** A server process, with clients that keep their connections: a new one would cost more than what is measured. */
export interface NodeProcess {
  readonly api: ApiConnection;
  /** Address of its HTTPS listener. */
  readonly edge: string;
  ask(host: string, options?: AskOptions): Promise<Answer>;
}

export interface AskOptions {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly cookies: readonly string[];
}

/** Server processes on one PostgreSQL database. */
export async function startNodeProcesses(test: Cleanup, count: number): Promise<readonly NodeProcess[]> {
  const folder = await tempDir(test);
  const postgres = await startPostgres();
  test.after(() => postgres.stop());
  const { url } = await freshDatabase(postgres);
  const env = {
    POSTERN_DATABASE_URL: url,
    POSTERN_SECRET_KEY: randomBytes(32).toString('base64'),
    POSTERN_API_KEY: API_KEY,
    POSTERN_API_RATE_LIMIT: '0',
    POSTERN_LOG_LEVEL: 'warn',
    POSTERN_ROLES: 'api,edge',
  };
  const started = Array.from({ length: count }, (_, at) => startServerProcess(test, join(folder, `n${at}`), { env }));
  return Promise.all(
    started.map(async (process): Promise<NodeProcess> => {
      const { addresses } = await process.ready();
      const api = new ApiConnection(addresses.api, API_KEY);
      const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
      test.after(async () => {
        agent.destroy();
        api.close();
      });
      const { edge } = addresses as unknown as { readonly edge: string };
      return { api, edge, ask: (host, options) => ask(agent, edge, host, options) };
    }),
  );
}

function ask(
  agent: Agent,
  edge: string,
  host: string,
  { path = '/', method = 'GET', headers = {}, body = '' }: AskOptions = {},
): Promise<Answer> {
  const [address, port] = edge.split(':');
  return new Promise((resolve, reject) => {
    const sent = request(
      { agent, host: address, port, servername: host, path, method, headers: { host, ...headers } },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        response.on('error', reject);
        const cookies = (response.headers['set-cookie'] ?? []).map((line) => line.slice(0, line.indexOf(';')));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text, cookies }));
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}
