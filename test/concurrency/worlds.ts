import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import type { Clock } from '../../src/kit/clock.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { freshDatabase, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { TestWorld, type WorldOptions } from '../support/test-world.ts';

export type EngineName = 'sqlite' | 'postgres';
export const ENGINES: readonly EngineName[] = ['sqlite', 'postgres'];

let server: PostgresServer | null = null;

/** Call once in a test file that opens worlds on PostgreSQL. */
export function usePostgres(): void {
  before(async () => {
    server = await startPostgres();
  });
  after(() => server?.stop());
}

export function startedServer(): PostgresServer {
  if (server === null) throw new Error('the test file does not call usePostgres()');
  return server;
}

export async function openWorld(test: Cleanup, engine: EngineName, options: WorldOptions = {}): Promise<TestWorld> {
  if (engine === 'sqlite') return TestWorld.open(test, options);
  const [world] = await openWorldsOnOneDatabase(test, 1, options);
  return world as TestWorld;
}

export interface RestartableWorld {
  readonly world: TestWorld;
  /** Closes it and opens another on the same data. */
  readonly restart: () => Promise<TestWorld>;
}

export async function openRestartableWorld(test: Cleanup, engine: EngineName): Promise<RestartableWorld> {
  const database = engine === 'sqlite' ? null : await freshDatabase(startedServer());
  const dataDir = await mkdtemp(join(tmpdir(), 'postern-test-'));
  const closings: (() => Promise<void>)[] = [];
  test.after(async () => {
    for (const close of closings) await close();
    await database?.drop();
    await rm(dataDir, { recursive: true, force: true });
  });
  const open = (): Promise<TestWorld> =>
    TestWorld.open(
      { after: (task) => void closings.push(task) },
      { dataDir, ...(database !== null && { databaseUrl: database.url }) },
    );
  const world = await open();
  return {
    world,
    restart: async () => {
      await world.close();
      return open();
    },
  };
}

/** Several Postern processes, all on one PostgreSQL database and with one secret key. */
export async function openWorldsOnOneDatabase(
  test: Cleanup,
  count: number,
  options: WorldOptions = {},
): Promise<TestWorld[]> {
  const database = await freshDatabase(startedServer());
  const env = { POSTERN_SECRET_KEY: randomBytes(32).toString('base64'), ...options.env };
  const worlds: TestWorld[] = [];
  for (let made = 0; made < count; made += 1) {
    worlds.push(await TestWorld.open(test, { ...options, databaseUrl: database.url, env }));
  }
  // Hooks run in order of registration: the worlds close before their database is dropped.
  test.after(() => database.drop());
  return worlds;
}

/**
 * For resources that a `before` hook opens for a whole suite: `after` called inside a hook would run right after that
 * hook.
 */
export function cleanupAfterSuite(): Cleanup {
  const tasks: (() => Promise<void>)[] = [];
  after(async () => {
    for (const task of tasks) await task();
  });
  return { after: (task) => void tasks.push(task) };
}

/** A clock that the test controls. */
export class MovedClock implements Clock {
  #aheadMs = 0;
  #stoppedAtMs: number | null = null;

  nowMs(): number {
    return (this.#stoppedAtMs ?? Date.now()) + this.#aheadMs;
  }

  /** From now on only `advance` moves it. */
  stop(): void {
    this.#stoppedAtMs = Date.now();
  }

  advance(ms: number): void {
    this.#aheadMs += ms;
  }
}

/**
 * Keeps a world from receiving other processes' writes while the gate is shut: then its replica is stale for certain,
 * not only by luck. Waiting readers of the feed continue when the gate opens.
 */
export class FeedGate {
  #open: Promise<void> = Promise.resolve();
  #release: () => void = () => {};

  constructor({ store }: TestWorld) {
    const changesSince = store.changesSince.bind(store);
    store.changesSince = async (revision) => {
      await this.#open;
      return changesSince(revision);
    };
  }

  shut(): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#open = promise;
    this.#release = resolve;
  }

  open(): void {
    this.#release();
  }
}

/** Lets a world read the change feed, but delivers the results only on command: they are late for certain. */
export class HeldFeed {
  #held: { readonly answered: Promise<unknown>; readonly gate: PromiseWithResolvers<void> }[] = [];
  #isHolding = false;
  #readFrom: number | null = null;
  #someAnswered = Promise.withResolvers<void>();

  constructor({ store }: TestWorld) {
    const changesSince = store.changesSince.bind(store);
    store.changesSince = async (revision) => {
      if (!this.#isHolding) return changesSince(revision);
      const gate = Promise.withResolvers<void>();
      const answered = changesSince(this.#readFrom ?? revision);
      this.#held.push({ answered, gate });
      const answer = await answered;
      this.#someAnswered.resolve();
      await gate.promise;
      return answer;
    };
  }

  /** `readFrom`: reads from an earlier revision than requested, as if requested earlier. */
  hold({ readFrom = null }: { readFrom?: number | null } = {}): void {
    this.#isHolding = true;
    this.#readFrom = readFrom;
    this.#someAnswered = Promise.withResolvers<void>();
  }

  untilAnswered(): Promise<void> {
    return this.#someAnswered.promise;
  }

  releaseFirst(): void {
    this.#held.shift()?.gate.resolve();
  }

  release(): void {
    this.#isHolding = false;
    for (const { gate } of this.#held.splice(0)) gate.resolve();
  }
}

export interface Made {
  readonly id: string;
  readonly uri: string;
}

let hosts = 0;

export async function makeEdge(world: TestWorld): Promise<Made> {
  hosts += 1;
  return made(await world.api('POST', '/edges/https', { hostports: [`race-${process.pid}-${hosts}.localhost:443`] }));
}

export async function makeRoute(world: TestWorld, edge?: Made): Promise<Made> {
  const under = edge ?? (await makeEdge(world));
  return made(await world.api('POST', `${under.uri}/routes`, { match_type: 'path_prefix', match: '/' }));
}

export async function makeStaticBackend(world: TestWorld): Promise<Made> {
  return made(await world.api('POST', '/backends/static', { address: '10.0.0.5:3000' }));
}

export function made(answer: { readonly status: number; readonly body: unknown; readonly text: string }): Made {
  if (answer.status !== 201) throw new Error(`expected 201, got ${answer.status}: ${answer.text}`);
  return answer.body as Made;
}

/** The same resource, with the address of another world on the same store. */
export function inWorld(world: TestWorld, uri: string): string {
  return `${world.baseUrl}${new URL(uri).pathname}`;
}

export function countByStatus(answers: readonly { readonly status: number }[]): Readonly<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
