import assert from 'node:assert/strict';
import type { ClientHttp2Session } from 'node:http2';
import type { EdgeWorkers } from '../../src/app/main/workers/edge-workers.ts';
import { until } from '../../src/kit/async/waiting.ts';
import type { EdgeWorld, Site } from '../support/edge-world.ts';

const WITHIN_MS = 60_000;

/**
 * Clients over HTTP/1.1 and HTTP/2, and one that changes what they get, while workers are ended one after the other.
 * Connections may fail. An answer must be one that was in force since the request began, and no write may fail.
 */
export class EndingLoop {
  readonly #world: EdgeWorld;
  readonly #site: Site;
  readonly #workers: EdgeWorkers;
  readonly #backends: readonly string[];
  readonly #wrong: string[] = [];
  #acknowledged = 0;
  #sent = 0;
  #answers = 0;
  #lost = 0;
  #isOver = false;

  private constructor(world: EdgeWorld, site: Site, backends: readonly string[]) {
    this.#world = world;
    this.#site = site;
    this.#workers = world.world.server.workers as EdgeWorkers;
    this.#backends = backends;
  }

  static async open(world: EdgeWorld): Promise<EndingLoop> {
    const backends = await Promise.all(['0', '1', '2', '3'].map((text) => world.httpResponse(text)));
    return new EndingLoop(world, await world.site(backends[0] as string), backends);
  }

  async run(rounds: number): Promise<{ readonly answers: number; readonly lost: number; readonly writes: number }> {
    const clients = [this.#overHttp1(), this.#overHttp1(), this.#overHttp2(), this.#overHttp2(), this.#writes()];
    try {
      for (let round = 0; round < rounds; round += 1) {
        const before = this.#answers;
        assert(
          await until(() => this.#answers >= before + 20 || this.#wrong.length > 0, WITHIN_MS),
          'clients are served',
        );
        const living = this.#workers.all();
        await living[round % living.length]?.end();
        const isWhole = (): boolean =>
          this.#workers.connectionCounts.length === living.length && this.#workers.all().length === living.length;
        assert(await until(isWhole, WITHIN_MS), 'another worker is ready');
      }
    } finally {
      this.#isOver = true;
      await Promise.allSettled(clients);
    }
    await Promise.all(clients);
    assert.deepEqual(this.#wrong, []);
    return { answers: this.#answers, lost: this.#lost, writes: this.#acknowledged };
  }

  async #overHttp1(): Promise<void> {
    let agent = this.#world.agent();
    while (!this.#isOver) {
      const since = this.#acknowledged;
      try {
        const { status, text } = await this.#world.ask(this.#site.host, '/', { agent });
        this.#judge(status, text, since);
      } catch {
        this.#lost += 1;
        agent.destroy();
        agent = this.#world.agent();
      }
    }
    agent.destroy();
  }

  async #overHttp2(): Promise<void> {
    let session: ClientHttp2Session | null = null;
    while (!this.#isOver) {
      const since = this.#acknowledged;
      try {
        session ??= await this.#world.http2(this.#site.host);
        const { status, text } = await get(session, this.#site.host);
        this.#judge(status, text, since);
      } catch {
        this.#lost += 1;
        session?.destroy();
        session = null;
      }
    }
    session?.destroy();
  }

  async #writes(): Promise<void> {
    while (!this.#isOver) {
      this.#sent += 1;
      const backend = this.#backends[this.#sent % this.#backends.length] as string;
      await this.#world.api('PUT', `${this.#site.routePath}/backend`, { backend_id: backend });
      this.#acknowledged = this.#sent;
    }
  }

  /** Configurations in force since the request began: the last one that was acknowledged then, and all later ones. */
  #judge(status: number, text: string, since: number): void {
    this.#answers += 1;
    const inForce = new Set<string>();
    for (let write = since; write <= this.#sent; write += 1) inForce.add(String(write % this.#backends.length));
    if (status !== 200 || !inForce.has(text)) this.#wrong.push(`${status} ${text} after write ${since}`);
  }
}

function get(session: ClientHttp2Session, host: string): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':path': '/', ':authority': host });
    let status = 0;
    let text = '';
    stream.setEncoding('utf8');
    stream.on('response', (headers) => {
      status = Number(headers[':status']);
    });
    stream.on('data', (chunk: string) => {
      text += chunk;
    });
    stream.on('error', reject);
    stream.on('close', () => {
      if (status !== 0 && stream.readableEnded && stream.rstCode === 0 && text !== '') resolve({ status, text });
      else reject(new Error('the stream ended early'));
    });
  });
}
