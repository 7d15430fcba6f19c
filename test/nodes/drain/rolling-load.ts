import { request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientOptions, WebSocket } from 'ws';
import type { ClusterNode } from '../../support/cluster/cluster-node.ts';
import type { Cluster } from '../../support/cluster.ts';

/** RFC 6455 §7.4.1: the server is going away, and the client connects elsewhere. */
export const GOING_AWAY = 1001;
const REQUEST_WITHIN_MS = 20_000;

export interface RollingLoadOptions {
  readonly cluster: Cluster;
  /** Through a tunnel: its service answers with `here`, and echoes WebSocket messages. */
  readonly host: string;
  readonly workers: number;
  /** Between two requests of a worker. Default: none. */
  readonly pauseMs?: number;
}

/**
 * Visitors of all nodes in turn, who do what browsers do with several addresses of a name: if a connection cannot be
 * opened, they try the next address. Everything else that goes wrong is a failure.
 */
export class RollingLoad {
  readonly failures: string[] = [];
  /** WebSockets that ended, with the node that their client had reached. */
  readonly ended: { readonly node: string; readonly code: number; readonly atMs: number }[] = [];
  /** What the test does at the moment, for the failures. */
  phase = '';
  #phaseAtMs = 0;
  answered = 0;
  echoes = 0;
  readonly #options: RollingLoadOptions;
  readonly #work: Promise<unknown>[] = [];
  readonly #sockets = new Set<WebSocket>();
  #isOver = false;

  constructor(options: RollingLoadOptions) {
    this.#options = options;
  }

  enter(phase: string): void {
    this.phase = phase;
    this.#phaseAtMs = performance.now();
  }

  start(): this {
    const { cluster, workers } = this.#options;
    for (let worker = 0; worker < workers; worker += 1) this.#work.push(this.#ask(worker));
    for (const at of cluster.nodes.keys()) this.#work.push(this.#talk(at));
    return this;
  }

  /** Waits for this many further answers and echoes. */
  async more(count: number): Promise<void> {
    const [answered, echoes] = [this.answered + count, this.echoes + count];
    while (this.answered < answered || this.echoes < echoes) {
      if (this.failures.length > 0) return;
      await sleep(10);
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    for (const socket of this.#sockets) socket.terminate();
    await Promise.all(this.#work);
  }

  #fail(what: string): void {
    this.failures.push(`${this.phase} +${Math.round(performance.now() - this.#phaseAtMs)} ms: ${what}`);
  }

  async #ask(worker: number): Promise<void> {
    const { cluster, pauseMs } = this.#options;
    const { nodes } = cluster;
    for (let turn = worker; !this.#isOver; turn += 1) {
      if (pauseMs !== undefined) await sleep(pauseMs);
      const order = nodes.map((_node, at) => nodes[(turn + at) % nodes.length] as ClusterNode);
      const outcomes: string[] = [];
      for (const node of order) {
        const outcome = await this.#request(node);
        outcomes.push(`${node.name}: ${outcome}`);
        if (outcome !== 'not connected') break;
      }
      if (outcomes.at(-1)?.endsWith(': 200 here') === true) this.answered += 1;
      else if (!this.#isOver) this.#fail(outcomes.join(', '));
    }
  }

  #request({ address, ports, ca }: ClusterNode): Promise<string> {
    const { host } = this.#options;
    return new Promise((resolve) => {
      const sent = request({
        host: address,
        port: ports.edge,
        servername: host,
        ca: [...ca],
        headers: { host },
        agent: false,
      });
      let isConnected = false;
      sent.setTimeout(REQUEST_WITHIN_MS, () => sent.destroy(new Error('no answer in time')));
      sent.once('socket', (socket) => socket.once('secureConnect', () => (isConnected = true)));
      sent.once('error', (error) => resolve(isConnected ? `${error.message}` : 'not connected'));
      sent.once('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.once('error', (error) => resolve(`${response.statusCode} ${error.message}`));
        response.once('end', () => resolve(`${response.statusCode} ${text.slice(0, 60)}`));
      });
      sent.end();
    });
  }

  /** Keeps one WebSocket open, and opens it elsewhere when its node goes away. */
  async #talk(first: number): Promise<void> {
    const { nodes } = this.#options.cluster;
    for (let at = first; !this.#isOver; at += 1) {
      const node = nodes[at % nodes.length] as ClusterNode;
      const socket = await this.#open(node);
      if (socket === null) continue;
      const code = await this.#echo(socket);
      if (this.#isOver) return;
      this.ended.push({ node: node.name, code, atMs: performance.now() });
    }
  }

  #open({ address, ports, ca }: ClusterNode): Promise<WebSocket | null> {
    const { host } = this.#options;
    const options: ClientOptions & { readonly servername: string } = {
      servername: host,
      ca: [...ca],
      headers: { host },
    };
    const socket = new WebSocket(`wss://${address}:${ports.edge}/`, options);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    return new Promise((resolve) => {
      socket.once('open', () => resolve(socket));
      socket.once('error', (error) => {
        // An answer instead of a WebSocket is a failure; no connection is not.
        if (!this.#isOver && /Unexpected server response/.test(error.message)) this.#fail(error.message);
        resolve(null);
      });
    });
  }

  #echo(socket: WebSocket): Promise<number> {
    socket.on('error', () => {});
    return new Promise((resolve) => {
      const timer = setInterval(() => socket.send('hello'), 50);
      socket.on('message', () => (this.echoes += 1));
      socket.once('close', (code) => {
        clearInterval(timer);
        resolve(code);
      });
    });
  }
}
