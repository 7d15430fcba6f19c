import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import type { ApiConnection } from '../support/api-connection.ts';
import { findOldNode } from '../support/old-node.ts';
import { type OwnPostgres, startOwnPostgres } from '../support/own-postgres.ts';
import { freshDatabase } from '../support/postgres.ts';
import { Random } from '../support/random.ts';
import { tempDir } from '../support/temp-dir.ts';
import { checkDatabase } from './database-checks.ts';
import { Ledger } from './ledger.ts';
import { observe } from './observe.ts';
import { repeatKeyedCreates } from './repeat-keyed-creates.ts';
import { type ServerUnderFire, spawnUnderFire, startUnderFire } from './server-under-fire.ts';
import { setUpWorld } from './set-up-world.ts';
import { newWriterLog, Writer, type WriterLog } from './writer.ts';

export interface KillRoundsOptions {
  readonly engine: 'sqlite' | 'postgres';
  readonly rounds: number;
  readonly writers: number;
  /** No further round starts after it; fewer rounds than requested are a failure. */
  readonly deadlineMs: number;
  readonly seed?: number;
}

/**
 * How a round ends:
 * - `server`: SIGKILL of the server, started directly;
 * - `launcher`: SIGKILL of the launcher on an old Node, which must take the server with it;
 * - `launched_server`: SIGKILL of a server started by a launcher;
 * - `starting`: like `server`, and the next start is killed midway as well;
 * - `backend`: SIGKILL of a PostgreSQL process, which then restarts all of them, and a little later of the server;
 * - `postmaster`: SIGKILL of the whole PostgreSQL, and of the server.
 */
type Fault = 'server' | 'launcher' | 'launched_server' | 'starting' | 'backend' | 'postmaster';

const FAULTS: Readonly<Record<KillRoundsOptions['engine'], readonly Fault[]>> = {
  sqlite: ['server', 'launcher', 'server', 'starting', 'server', 'launched_server', 'server', 'server'],
  postgres: [
    'server',
    'backend',
    'server',
    'postmaster',
    'launcher',
    'server',
    'starting',
    'server',
    'server',
    'server',
  ],
};

/** The kill comes a random time after a random number of acknowledged writes: a server that just started is slow. */
const MOST_WRITES_BEFORE = 80;
const LONGEST_WAIT_MS = 4_000;
const MOST_LOAD_MS = 400;

export interface KillFigures {
  rounds: number;
  acknowledged: number;
  unanswered: number;
  applied: number;
  repeated: number;
  revision: number;
  seconds: number;
  readonly faults: Map<Fault, number>;
  readonly refused: Map<string, number>;
}

/** Kills, restarts, and compares the store with the responses; round after round on one store. */
export async function runKillRounds(test: TestContext, options: KillRoundsOptions): Promise<KillFigures> {
  const run = await KillRun.open(test, options);
  return run.all();
}

class KillRun {
  readonly #test: TestContext;
  readonly #options: KillRoundsOptions;
  readonly #location: StoreLocation;
  readonly #postgres: OwnPostgres | null;
  readonly #oldNode = findOldNode();
  readonly #seed: number;
  readonly #random: Random;
  readonly #ledger = new Ledger();
  readonly #log: WriterLog = newWriterLog();
  readonly #writers: readonly Writer[];
  readonly #figures: KillFigures = {
    rounds: 0,
    acknowledged: 0,
    unanswered: 0,
    applied: 0,
    repeated: 0,
    revision: 0,
    seconds: 0,
    faults: new Map(),
    refused: this.#log.refused,
  };
  #subscribedFrom = 0;

  private constructor(
    test: TestContext,
    options: KillRoundsOptions,
    location: StoreLocation,
    postgres: OwnPostgres | null,
  ) {
    this.#test = test;
    this.#options = options;
    this.#location = location;
    this.#postgres = postgres;
    this.#seed = options.seed ?? Math.floor(Math.random() * 2 ** 31);
    this.#random = new Random(this.#seed);
    this.#writers = Array.from({ length: options.writers }, (_, at) => {
      const random = new Random(this.#seed + at + 1);
      return new Writer({ name: `w${at}`, ledger: this.#ledger, random, log: this.#log });
    });
    if (this.#oldNode === null)
      test.diagnostic('!! no Node older than 24 here: the launcher is never a process of its own, and not killed');
  }

  static async open(test: TestContext, options: KillRoundsOptions): Promise<KillRun> {
    const dataDir = join(await tempDir(test), 'data');
    if (options.engine === 'sqlite') return new KillRun(test, options, { engine: 'sqlite', dataDir }, null);
    const postgres = await startOwnPostgres();
    test.after(() => postgres.close());
    const { url } = await freshDatabase(postgres);
    return new KillRun(test, options, { engine: 'postgres', dataDir, url }, postgres);
  }

  async all(): Promise<KillFigures> {
    const startedMs = performance.now();
    const { engine, rounds, deadlineMs } = this.#options;
    const faults = FAULTS[engine];
    // A store must survive being killed while it is created.
    await this.#killWhileStarting();
    let server = await this.#start('server');
    await this.#setUp(server.api);
    for (let round = 0; round < rounds && performance.now() - startedMs < deadlineMs; round += 1) {
      const fault = this.#possible(faults[round % faults.length] ?? 'server');
      await this.#fire(server, fault);
      this.#figures.rounds += 1;
      this.#figures.faults.set(fault, (this.#figures.faults.get(fault) ?? 0) + 1);
      server = await this.#start(this.#possible(faults[(round + 1) % faults.length] ?? 'server'));
      await this.#check(server.api, `round ${round}, ${fault}`);
    }
    await server.kill();
    this.#figures.seconds = Math.round((performance.now() - startedMs) / 1000);
    return this.#figures;
  }

  #possible(fault: Fault): Fault {
    return this.#oldNode === null && (fault === 'launcher' || fault === 'launched_server') ? 'server' : fault;
  }

  #start(next: Fault): Promise<ServerUnderFire> {
    const isLaunched = next === 'launcher' || next === 'launched_server';
    const node = isLaunched && this.#oldNode !== null ? { node: this.#oldNode } : {};
    return startUnderFire(this.#test, this.#location, node);
  }

  async #setUp(api: ApiConnection): Promise<void> {
    const { revision } = await setUpWorld(api, this.#ledger);
    this.#subscribedFrom = revision;
  }

  async #fire(server: ServerUnderFire, fault: Fault): Promise<void> {
    const stop = new AbortController();
    const running = Promise.all(this.#writers.map((writer) => writer.run(server.api, stop.signal)));
    await this.#untilAcknowledged(this.#random.below(MOST_WRITES_BEFORE));
    await sleep(this.#random.between(0, MOST_LOAD_MS));
    if (fault === 'backend') {
      await this.#postgres?.killBackend(new URL((this.#location as { url: string }).url).pathname.slice(1));
      await sleep(this.#random.between(0, 600));
    }
    if (fault === 'postmaster') await this.#postgres?.end('SIGKILL');
    await (fault === 'launched_server' ? server.killServer() : server.kill());
    stop.abort();
    await running;
    if (fault === 'postmaster') await this.#postgres?.start();
    // The database may still be recovering, and a server that starts meanwhile reports that and exits.
    if (fault === 'backend') await this.#postgres?.untilAnswers();
    if (fault === 'starting') await this.#killWhileStarting();
  }

  async #untilAcknowledged(count: number): Promise<void> {
    const deadline = Date.now() + LONGEST_WAIT_MS;
    while (this.#log.acknowledged.length < count && Date.now() < deadline) await sleep(5);
  }

  async #killWhileStarting(): Promise<void> {
    const process = spawnUnderFire(this.#test, this.#location);
    await sleep(this.#random.between(300, 1500));
    process.child.kill('SIGKILL');
    await process.exited;
  }

  async #check(api: ApiConnection, title: string): Promise<void> {
    const observed = await observe(api);
    const { problems, applied, unanswered } = this.#ledger.settle(observed);
    const database = await checkDatabase(this.#location, {
      subscribedFrom: this.#subscribedFrom,
      eventsCheckedTo: this.#figures.revision,
    });
    const changed = new Set(database.changes.map(({ revision, owner }) => `${revision} ${owner}`));
    const unseen = this.#log.acknowledged
      .filter(({ revision, id }) => !changed.has(`${revision} ${id}`))
      .map(({ revision, id }) => `revision ${revision} of ${id} was acknowledged, and is not among the changes`);
    for (const writer of this.#writers) writer.forgetOpen();
    this.#refuse(title, [...this.#log.problems, ...problems, ...database.problems, ...unseen]);

    this.#figures.acknowledged += this.#log.acknowledged.length;
    this.#figures.unanswered += unanswered;
    this.#figures.applied += applied.length;
    this.#figures.revision = database.revision;
    this.#log.acknowledged.length = 0;
    const keyed = this.#log.keyedCreates.splice(0);
    const repeats = await repeatKeyedCreates(api, keyed, this.#ledger);
    this.#figures.repeated += repeats.count;
    this.#refuse(`${title}, repeats`, repeats.problems);
  }

  #refuse(title: string, problems: readonly string[]): void {
    assert.ok(
      problems.length === 0,
      `${title} (seed ${this.#seed}, ${this.#options.engine}): ${problems.length} problems\n${problems.slice(0, 20).join('\n')}`,
    );
  }
}

export function describeFigures({ faults, refused, ...figures }: KillFigures): string {
  const { rounds, acknowledged, unanswered, applied, repeated, revision, seconds } = figures;
  const kinds = [...faults].map(([name, count]) => `${name} ${count}`).join(', ');
  const codes = [...refused].map(([code, count]) => `${code} × ${count}`).join(', ') || 'none';
  return `${rounds} rounds (${kinds}) in ${seconds} s: ${acknowledged} writes acknowledged, ${unanswered} unanswered of which ${applied} applied, ${repeated} keyed creates repeated, ${revision} revisions; refusals: ${codes}`;
}
