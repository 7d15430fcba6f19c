import assert from 'node:assert/strict';
import { type Answer, ApiConnection } from '../api-connection.ts';
import type { Cleanup } from '../cleanup.ts';
import { EdgeSites } from '../edge-sites.ts';
import { trustIn } from '../edge-world.ts';
import { type Exit, type PosternProcess, startServerProcess } from '../server-process.ts';
import { TEST_API_KEY } from '../test-world.ts';

/** The same numbers on every node, each on an address of its own. */
export interface NodePorts {
  readonly api: number;
  readonly edge: number;
  readonly edgeHttp: number;
  readonly tunnel: number;
  readonly peer: number;
}

export interface NodePlace {
  readonly name: string;
  readonly address: string;
  readonly ports: NodePorts;
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A `postern server` process that can be killed and started again at the same addresses. */
export class ClusterNode extends EdgeSites {
  readonly name: string;
  readonly ports: NodePorts;
  readonly #place: NodePlace;
  readonly #test: Cleanup;
  readonly #earlier: PosternProcess[] = [];
  #process: PosternProcess | null = null;
  #api: ApiConnection;
  #trust: readonly string[] = [];

  constructor(test: Cleanup, place: NodePlace) {
    super({ address: place.address, port: place.ports.edge, ca: [] });
    this.name = place.name;
    this.ports = place.ports;
    this.#place = place;
    this.#test = test;
    this.#api = this.#newApi();
    test.after(async () => {
      this.disconnect();
      this.#api.close();
    });
  }

  override get ca(): readonly string[] {
    return this.#trust;
  }

  get process(): PosternProcess {
    return this.#process ?? assert.fail(`node ${this.name} was not started`);
  }

  get pid(): number {
    return this.#process?.child.pid ?? 0;
  }

  get isRunning(): boolean {
    const child = this.#process?.child;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  get tunnelAddr(): string {
    return `${this.address}:${this.ports.tunnel}`;
  }

  /** Resolves when the process is ready. `launcher`: of another version than the checkout's. */
  async start(env: Readonly<Record<string, string>> = {}, launcher?: string): Promise<void> {
    const { address, ports, dataDir } = this.#place;
    if (this.#process !== null) this.#earlier.push(this.#process);
    const listen = (flag: string, port: number): readonly string[] => [`--${flag}`, `${address}:${port}`];
    this.#process = startServerProcess(this.#test, dataDir, {
      args: [
        ...listen('api-listen', ports.api),
        ...listen('edge-listen', ports.edge),
        ...listen('edge-http-listen', ports.edgeHttp),
        ...listen('tunnel-listen', ports.tunnel),
      ],
      env: { ...this.#place.env, ...env },
      ...(launcher !== undefined && { launcher }),
    });
    await this.#process.ready();
    this.#trust = trustIn(dataDir);
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<Exit> {
    const { child, exited } = this.process;
    child.kill(signal);
    const exit = await exited;
    this.#api.close();
    this.#api = this.#newApi();
    return exit;
  }

  /** SIGSTOP: the process keeps its connections, and answers nothing. */
  freeze(): void {
    this.process.child.kill('SIGSTOP');
  }

  thaw(): void {
    this.process.child.kill('SIGCONT');
  }

  /** One call of the API, whatever its outcome. */
  send(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.#api.send(method, path, body);
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
  async api(method: string, path: string, body?: unknown): Promise<any> {
    const answer = await this.send(method, path, body);
    if (answer.status >= 300) throw new Error(`${this.name} ${method} ${path}: ${JSON.stringify(answer)}`);
    return answer.body;
  }

  /** Log of all processes of this node, one after another. */
  allOutput(): string {
    return [...this.#earlier, this.process].map((each) => each.stdout() + each.stderr()).join('');
  }

  /** Log lines with this message. */
  logged(message: string): readonly Record<string, unknown>[] {
    return this.process.lines().filter(({ msg }) => msg === message);
  }

  #newApi(): ApiConnection {
    return new ApiConnection(`${this.#place.address}:${this.#place.ports.api}`, TEST_API_KEY);
  }
}
