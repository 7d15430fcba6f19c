import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientOptions, WebSocket } from 'ws';
import { CookieJar } from '../../support/cookie-jar.ts';
import { logIn } from '../../support/identity-provider.ts';
import type { Random } from '../../support/random.ts';
import type { ChaosWorld, KnownSite } from './chaos-world.ts';
import type { ContestedDocument } from './contested-document.ts';
import type { Ledger } from './ledger.ts';
import { type ClientAnswer, PatientClient } from './patient-client.ts';
import { Writes } from './writes.ts';

export interface LoadOptions {
  /** Pause of each client between two requests. */
  readonly pauseMs: number;
}

/** A WebSocket that echoes nothing for so long. */
const SILENT_MS = 5_000;

/** Static sites, tunnels, WebSockets, logins and configuration writes through all nodes. */
export class ChaosLoad {
  readonly writes: Writes;
  readonly #world: ChaosWorld;
  readonly #ledger: Ledger;
  readonly #client: PatientClient;
  readonly #random: Random;
  readonly #pauseMs: number;
  readonly #runs: Promise<void>[] = [];
  readonly #ended = new AbortController();

  constructor(world: ChaosWorld, ledger: Ledger, random: Random, { pauseMs }: LoadOptions) {
    this.#world = world;
    this.#ledger = ledger;
    this.#random = random;
    this.#client = new PatientClient(world.cluster, random);
    this.#pauseMs = pauseMs;
    this.writes = new Writes(world.cluster, ledger, random);
  }

  start(document: ContestedDocument): void {
    const { staticSite, groupSite, tunnels, contended, socketHosts } = this.#world;
    this.#repeat(() => this.#site('static', staticSite));
    this.#repeat(() => this.#site('group', groupSite));
    for (let n = 0; n < 2; n += 1) this.#repeat(() => this.#site('tunnel', this.#random.one(tunnels)));
    this.#repeat(() => this.#contended(this.#random.one(contended)));
    for (const host of socketHosts.slice(0, 3)) this.#repeat(() => this.#webSocket(host));
    this.#repeat(() => this.writes.once(), 2);
    for (let client = 0; client < 3; client += 1) this.#repeat(() => document.change(client), 4);
    this.#repeat(() => this.#login(), 10);
    for (const site of tunnels) this.#runs.push(this.#probe(site));
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    await Promise.all(this.#runs);
    this.#client.close();
    this.writes.close();
  }

  get #isOver(): boolean {
    return this.#ended.signal.aborted;
  }

  #repeat(once: () => Promise<void>, factor = 1): void {
    const run = async (): Promise<void> => {
      while (!this.#isOver) {
        await once();
        await this.#pause(this.#pauseMs * factor * this.#random.between(0.5, 1.5));
      }
    };
    this.#runs.push(run());
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#ended.signal }).catch(() => {});
  }

  async #site(kind: string, { host, answers }: KnownSite): Promise<void> {
    try {
      this.#check(kind, host, answers, await this.#client.get(host));
    } catch (error) {
      this.#ledger.failed(kind, `${host}: ${(error as Error).message}`);
    }
  }

  #check(kind: string, host: string, answers: readonly string[], { status, text, node }: ClientAnswer): void {
    if (status === 200 && answers.includes(text)) this.#ledger.ok(kind);
    else if (status === 200) this.#ledger.wrong.push(`${host} on ${node.name}: ${text.slice(0, 200)}`);
    else this.#ledger.failed(kind, `${host} on ${node.name}: ${status} ${text.slice(0, 300)}`);
  }

  /** The host's owners come and go: no answer is correct, another name's is wrong. */
  async #contended(host: string): Promise<void> {
    const answer = await this.#client.get(host).catch(() => null);
    this.#ledger.ok('contended');
    if (answer?.status === 200 && !answer.text.endsWith(` of ${host}`)) {
      this.#ledger.wrong.push(`${host} on ${answer.node.name}: ${answer.text}`);
    }
  }

  /** A socket for a while, through one node. When it is cut, the client opens another one elsewhere. */
  async #webSocket(host: string): Promise<void> {
    const nodes = this.#random.shuffled(this.#world.cluster.nodes);
    for (const [at, node] of nodes.entries()) {
      const options: ClientOptions & { readonly servername: string } = {
        servername: host,
        ca: [...this.#world.cluster.ca],
        headers: { host },
        handshakeTimeout: 1000,
      };
      const socket = new WebSocket(`wss://${node.address}:${node.port}/`, options);
      const problem = await this.#echoes(socket, `${host} ${this.#random.next()}`);
      socket.terminate();
      if (problem === null) return;
      if (at === nodes.length - 1) this.#ledger.failed('websocket', `${host} on ${node.name}: ${problem}`);
    }
  }

  #echoes(socket: WebSocket, word: string): Promise<string | null> {
    return new Promise((resolve) => {
      let isOpen = false;
      let count = 0;
      // Cut in the middle: the client reconnects. Never open: it tries the next node.
      socket.on('error', (error) => resolve(isOpen ? null : error.message));
      socket.on('close', () => resolve(isOpen ? null : 'closed'));
      let sentAtMs = Number.POSITIVE_INFINITY;
      const stop = setTimeout(() => {
        const isSilent = performance.now() - sentAtMs > SILENT_MS && this.#ledger.fault === null;
        if (isSilent) this.#ledger.failed('websocket', `${word}: no echo, and no fault is on`);
        resolve(null);
      }, 10_000);
      socket.on('close', () => clearTimeout(stop));
      const next = (): void => {
        if (this.#isOver || socket.readyState !== WebSocket.OPEN) resolve(null);
        else {
          sentAtMs = performance.now();
          socket.send(`${word} ${count}`);
        }
      };
      socket.on('open', () => {
        isOpen = true;
        this.#ledger.ok('websocket');
        next();
      });
      socket.on('message', (data: Buffer) => {
        const text = data.toString();
        if (text !== `${word} ${count}`) this.#ledger.wrong.push(`a WebSocket got ${text}`);
        this.#ledger.ok('echo');
        sentAtMs = Number.POSITIVE_INFINITY;
        count += 1;
        setTimeout(next, this.#pauseMs);
      });
    });
  }

  /** A whole login, each step at any node, then a visit at another one. */
  async #login(): Promise<void> {
    const { loginHost: host, provider, cluster, staticSite } = this.#world;
    const jar = new CookieJar();
    const origin = `https://${host}:${cluster.first.port}`;
    let path = '/private';
    let isBack = false;
    for (let step = 0; step < 12; step += 1) {
      const cookie = jar.header(`${origin}${path}`);
      let answer: ClientAnswer;
      try {
        answer = await this.#client.get(host, path, {
          headers: {
            accept: 'text/html',
            'sec-fetch-mode': 'navigate',
            ...(cookie !== undefined && { cookie }),
          },
        });
      } catch (error) {
        this.#ledger.failed('login', (error as Error).message);
        return;
      }
      jar.store(`${origin}${path}`, answer.headers['set-cookie'] as string[] | undefined);
      const button = /<a class="button" id="go" href="([^"]+)"/.exec(answer.text)?.[1];
      const location = button?.replaceAll('&amp;', '&') ?? (answer.headers['location'] as string | undefined);
      if (location === undefined) {
        if (answer.status === 200 && isBack && staticSite.answers.includes(answer.text)) this.#ledger.ok('login');
        else if (answer.status === 200) this.#ledger.wrong.push(`login: ${isBack} ${answer.text.slice(0, 200)}`);
        else
          this.#ledger.failed(
            'login',
            `${answer.node.name} ${path.split('?')[0]}: ${answer.status} ${String(answer.headers['postern-error-code'])}`,
            answer.status,
          );
        return;
      }
      let next = new URL(location, origin);
      if (next.origin !== origin) {
        next = await logIn(provider, next, 'alice', jar);
        isBack = true;
      }
      path = `${next.pathname}${next.search}`;
    }
    this.#ledger.failed('login', 'redirects without end');
  }

  /** Whether each node that works serves the tunnel, and how long it did not. */
  async #probe({ host, answers }: KnownSite): Promise<void> {
    const { nodes } = this.#world.cluster;
    const lastOkMs = nodes.map(() => performance.now());
    while (!this.#isOver) {
      for (const [at, node] of nodes.entries()) {
        if (this.#ledger.down.includes(node)) {
          lastOkMs[at] = performance.now();
          continue;
        }
        const startedMs = performance.now();
        const answer = await this.#client.getFrom(node, host).catch(() => null);
        // The node was stopped or came back meanwhile.
        if (this.#ledger.down.includes(node)) continue;
        if (answer?.status === 200 && answers.includes(answer.text)) {
          const ms = startedMs - (lastOkMs[at] ?? 0);
          lastOkMs[at] = performance.now();
          this.#gap(host, node.name, ms);
        } else if (answer?.status === 200) {
          this.#ledger.wrong.push(`probe of ${host} on ${node.name}: ${answer.text.slice(0, 200)}`);
        }
      }
      await this.#pause(3 * this.#pauseMs);
    }
    for (const [at, node] of nodes.entries()) this.#gap(host, node.name, performance.now() - (lastOkMs[at] ?? 0));
  }

  #gap(host: string, node: string, ms: number): void {
    if (ms < 1000) return;
    this.#ledger.gapsMs.push({ what: `${host} on ${node}`, ms, fault: this.#ledger.fault?.name ?? null });
  }
}
