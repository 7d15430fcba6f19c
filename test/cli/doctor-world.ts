import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { ApiConnection } from '../support/api-connection.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { startServerProcess } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { runCommand } from './run-command.ts';

export interface Finding {
  readonly level: 'ok' | 'hint' | 'warning' | 'problem';
  readonly check: string;
  readonly message: string;
  readonly advice?: string;
}

export interface Diagnosis {
  readonly code: number;
  readonly findings: readonly Finding[];
}

/** A real server process, and the doctor with the same settings. */
export class DoctorWorld {
  readonly env: Readonly<Record<string, string>>;
  readonly dataDir: string;
  readonly #api: ApiConnection;

  private constructor(env: Readonly<Record<string, string>>, dataDir: string, api: ApiConnection) {
    this.env = env;
    this.dataDir = dataDir;
    this.#api = api;
  }

  static async open(test: Cleanup): Promise<DoctorWorld> {
    const dataDir = await tempDir(test);
    const { base_url, addresses } = await startServerProcess(test, dataDir).ready();
    const { api, edge, edge_http, tunnel } = addresses as unknown as Record<string, string>;
    const key = (await readFile(join(dataDir, 'first-api-key'), 'utf8')).trim();
    const connection = new ApiConnection(api as string, key);
    test.after(() => Promise.resolve(connection.close()));
    const env = {
      POSTERN_CLI_API_URL: base_url,
      POSTERN_CLI_API_KEY: key,
      POSTERN_DATA_DIR: dataDir,
      POSTERN_EDGE_LISTEN: edge as string,
      POSTERN_EDGE_HTTP_LISTEN: edge_http as string,
      POSTERN_TUNNEL_LISTEN: tunnel as string,
    };
    return new DoctorWorld(env, dataDir, connection);
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
  async api(method: string, path: string, body?: unknown): Promise<any> {
    const answer = await this.#api.send(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** An edge whose route has a fixed response, so that it has no problem. */
  async site(...hosts: readonly string[]): Promise<{ edge: string; route: string }> {
    const { id: backendId } = await this.api('POST', '/backends/http_response', { body: 'hello' });
    const { id } = await this.api('POST', '/edges/https', { hostports: hosts.map((host) => `${host}:443`) });
    const edge = `/edges/https/${id}`;
    const { id: routeId } = await this.api('POST', `${edge}/routes`, {
      match_type: 'path_prefix',
      match: '/',
      backend: { backend_id: backendId },
    });
    return { edge, route: `${edge}/routes/${routeId}` };
  }

  examine(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Promise<Diagnosis> {
    return examine(args, { ...this.env, ...env });
  }
}

export async function examine(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Diagnosis> {
  const { code, stdout, stderr } = await runCommand(['doctor', '--json', ...args], { env });
  if (stderr !== '') throw new Error(stderr);
  return { code, findings: (JSON.parse(stdout) as { findings: Finding[] }).findings };
}

/** The findings of a check, such as `problem: …`, whose message contains the text. */
export function said({ findings }: Diagnosis, check: string, text = ''): readonly string[] {
  return findings
    .filter((finding) => finding.check === check && finding.message.includes(text))
    .map(({ level, message }) => `${level}: ${message}`);
}

/** A server of the test on a free port. */
export async function listening(test: Cleanup, server: Server = createServer()): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  test.after(async () => {
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An address without a listener. */
export async function deadAddress(): Promise<string> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `127.0.0.1:${port}`;
}
