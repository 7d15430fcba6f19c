import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { problemText } from '../../src/app/cli/problem-text.ts';
import type { ServicePorts } from '../../src/app/cli/service/service-ports.ts';
import { readEnvironment } from '../../src/app/cli/service/unit-text.ts';
import { createDownCommand } from '../../src/app/cli/up/down-command.ts';
import { createUpCommand } from '../../src/app/cli/up/up-command.ts';
import type { UpPorts } from '../../src/app/cli/up/wanted-up.ts';
import { servicePorts } from '../../src/app/main/commands/service-ports.ts';
import { upPorts } from '../../src/app/main/commands/up-ports.ts';
import type { AddressRecords } from '../../src/proxy/acme/orders/dns-diagnosis.ts';
import { ApiConnection } from '../support/api-connection.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { freePortsOn, ownAddresses } from '../support/cluster/own-addresses.ts';
import { type PosternProcess, startPostern } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';

export const PUBLIC_ADDRESS = '93.184.215.14';

export interface UpResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface UpRun {
  /** What the user answers; absent: there is no terminal. */
  readonly answer?: string;
  readonly ports?: Partial<UpPorts>;
  /** Whether a person reads the output. */
  readonly isTerminal?: boolean;
}

export interface Visited {
  readonly status: number;
  readonly text: string;
  readonly location: string | undefined;
}

/** `postern up` and `down` with real files, ports and servers. DNS is the test's. */
export class UpWorld {
  readonly folder: string;
  readonly file: string;
  readonly dataDir: string;
  readonly api: string;
  readonly edge: string;
  /** Listeners, files and directories of this world, for a first run. */
  readonly place: readonly string[];
  readonly records = new Map<string, AddressRecords>();
  readonly questions: string[] = [];
  readonly systemctl: string[] = [];
  readonly servers: PosternProcess[] = [];
  /** Called when a command has published its site and waits for the server in its terminal. */
  onWaiting: (result: UpResult) => void = () => {};
  /** Called with each line on standard error. */
  onWarning: (line: string) => void = () => {};
  /** The port of a service that says hello. */
  readonly target: number;
  readonly #test: Cleanup;
  #connection: ApiConnection | null = null;

  private constructor(test: Cleanup, folder: string, listeners: readonly string[], target: number) {
    this.#test = test;
    this.folder = folder;
    this.file = join(folder, 'server.yaml');
    this.dataDir = join(folder, 'data');
    const [api = '', edge = '', http = '', tunnel = ''] = listeners;
    this.api = api;
    this.edge = edge;
    this.target = target;
    this.place = [
      ...['--data-dir', this.dataDir, '--api-listen', api, '--edge-listen', edge],
      ...['--edge-http-listen', http, '--tunnel-listen', tunnel],
    ];
  }

  static async open(test: Cleanup): Promise<UpWorld> {
    const [host = ''] = ownAddresses(1);
    const ports = await freePortsOn(host, 4);
    const service = createServer((_request, response) => response.end('hello'));
    await once(service.listen(0, '127.0.0.1'), 'listening');
    test.after(async () => {
      service.closeAllConnections();
      await new Promise((resolve) => service.close(resolve));
    });
    const { port } = service.address() as AddressInfo;
    const listeners = ports.map((each) => `${host}:${each}`);
    return new UpWorld(test, await tempDir(test), listeners, port);
  }

  up(args: readonly string[], run: UpRun = {}): Promise<UpResult> {
    return this.#run('up', args, run);
  }

  down(args: readonly string[], run: UpRun = {}): Promise<UpResult> {
    return this.#run('down', args, run);
  }

  async #run(
    name: 'up' | 'down',
    args: readonly string[],
    { answer, ports = {}, isTerminal = false }: UpRun,
  ): Promise<UpResult> {
    const out: string[] = [];
    const err: string[] = [];
    const all = { ...this.#ports(), ...ports };
    const command = name === 'up' ? createUpCommand(all) : createDownCommand(all);
    const isService = all.service.hasSystemd();
    const context = {
      env: { USER: 'ana' },
      isTerminal,
      print: (line: string) => {
        out.push(line);
        if (line.includes('until you press Ctrl-C'))
          this.onWaiting({ code: 0, out: out.join('\n'), err: err.join('\n') });
      },
      warn: (line: string) => {
        err.push(line);
        this.onWarning(line);
      },
      ...(answer !== undefined && {
        ask: (question: string) => {
          this.questions.push(question);
          return Promise.resolve(answer);
        },
      }),
    };
    const typed = isService ? args : [...args, '--config', this.file];
    const code = await command.run(typed, context).catch((error: unknown) => {
      err.push(problemText(error, typed, {}));
      return 1;
    });
    return { code, out: out.join('\n'), err: err.join('\n') };
  }

  #ports(): UpPorts {
    return {
      ...upPorts,
      service: { ...servicePorts, hasSystemd: () => false },
      records: (host) => Promise.resolve(this.records.get(host) ?? { v4: [], v6: [] }),
      ownAddresses: () => ['10.0.0.5', PUBLIC_ADDRESS],
      serve: (args) => {
        const server = this.start(['server', ...args]);
        return { ended: endOf(server), stop: () => void server.child.kill('SIGTERM') };
      },
      // From a process of the program: this one is a test.
      restart: async (dataDir) => {
        const command = startPostern(this.#test, { args: ['restart', '--data-dir', dataDir] });
        const code = await endOf(command);
        const [, pid] = /Process (\d+) serves now/.exec(command.stdout()) ?? [];
        // The server is no child of this process, and a later restart ends it.
        if (pid !== undefined) this.#test.after(async () => endProcess(Number(pid)));
        return code;
      },
      certificateWaitMs: 20_000,
    };
  }

  start(args: readonly string[], env: Readonly<Record<string, string>> = {}): PosternProcess {
    const server = startPostern(this.#test, { args, env });
    this.servers.push(server);
    return server;
  }

  /** A machine with root and systemd, whose files are below `root`. */
  service(root: string): Partial<UpPorts> {
    const at = (path: string): string => (path.startsWith(this.folder) ? path : join(root, path));
    const service: ServicePorts = {
      ...servicePorts,
      isRoot: () => true,
      hasSystemd: () => true,
      ownCommand: () => ['/usr/local/bin/postern'],
      closedTo: () => null,
      list: () => [],
      exists: (path) => servicePorts.exists(at(path)),
      read: (path) => servicePorts.read(at(path)),
      modeOf: (path) => servicePorts.modeOf(at(path)),
      write: (path, text, mode) => servicePorts.write(at(path), text, mode),
      systemctl: (args) => {
        this.systemctl.push(args.join(' '));
        if (args[0] === 'is-active') return { isDone: this.servers.length > 0, output: '' };
        if (args[0] === 'start') {
          const env = Object.fromEntries(readEnvironment(readFileSync(at('/etc/postern/postern.env'), 'utf8')));
          this.start(['server'], { ...env, POSTERN_CONFIG: at(env['POSTERN_CONFIG'] ?? '') });
        }
        return { isDone: true, output: '' };
      },
    };
    return { service };
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
  async call(method: string, path: string, body?: unknown): Promise<any> {
    if (this.#connection === null) {
      const key = readFileSync(join(this.dataDir, 'first-api-key'), 'utf8').trim();
      const connection = new ApiConnection(this.api, key);
      this.#test.after(() => Promise.resolve(connection.close()));
      this.#connection = connection;
    }
    const answer = await this.#connection.send(method, path, body);
    assert(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
  async edgeOf(host: string): Promise<any> {
    const { https_edges: edges } = await this.call('GET', '/edges/https');
    // biome-ignore lint/suspicious/noExplicitAny: the same
    return edges.find((edge: any) => edge.hostports.some((each: string) => each.startsWith(`${host}:`)));
  }

  text(): string | null {
    return existsSync(this.file) ? readFileSync(this.file, 'utf8') : null;
  }

  /** As a visitor who does not look at the certificate. */
  visit(host: string, headers: Record<string, string> = {}, path = '/'): Promise<Visited> {
    const [address = '', port = ''] = this.edge.split(':');
    return new Promise((resolve, reject) => {
      const options = {
        host: address,
        port,
        servername: host,
        headers: { host, ...headers },
        path,
        rejectUnauthorized: false,
        agent: false,
      };
      request(options, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text, location: response.headers.location }),
        );
      })
        .on('error', reject)
        .end();
    });
  }
}

async function endOf(server: PosternProcess): Promise<number> {
  return (await server.exited).code ?? 1;
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
