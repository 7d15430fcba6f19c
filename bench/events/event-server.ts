import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openStore } from '../../src/app/main/open-store.ts';
import { loadConfig } from '../../src/app/settings/load.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { createKsuidSource } from '../../src/kit/text/ksuid.ts';
import { freshDatabase, type PostgresServer, startPostgres } from '../../test/support/postgres.ts';
import { call } from '../support/call.ts';
import { listFlag } from '../support/flags.ts';
import { API_KEY, type Program, startPosternServer, startProgram } from '../support/start-program.ts';
import type { Arrivals } from './receiver.ts';

const RECEIVER = fileURLToPath(new URL('./receiver.ts', import.meta.url));
export const TYPE = 'ip_policy_created.v0';
export const headers = { authorization: `Bearer ${API_KEY}`, 'service-version': '2' };
/** The change whose event is delivered. */
export const CHANGE = { method: 'POST', path: '/ip_policies', body: { description: 'one of many' } };

export type EngineName = 'sqlite' | 'postgres';

/** Where servers of one engine keep their stores. */
export interface Engine {
  readonly name: EngineName;
  /** The settings of another server, with its own store. */
  newHome(): Promise<Readonly<Record<string, string>>>;
}

/** Runs `use` for each engine given with `--engines`; by default both. */
export async function forEachEngine(directory: string, use: (engine: Engine) => Promise<void>): Promise<void> {
  let homes = 0;
  const dataDir = (): string => {
    homes += 1;
    return join(directory, `server-${homes}`);
  };
  for (const name of listFlag('engines') ?? ['sqlite', 'postgres']) {
    let postgres: PostgresServer | null = null;
    try {
      if (name === 'sqlite') {
        await use({ name, newHome: async () => ({ POSTERN_DATA_DIR: dataDir() }) });
      } else if (name === 'postgres') {
        const started = await startPostgres();
        postgres = started;
        const newHome = async () => {
          const { url } = await freshDatabase(started);
          return { POSTERN_DATA_DIR: dataDir(), POSTERN_DATABASE_URL: url };
        };
        await use({ name, newHome });
      } else throw new Error(`unknown engine "${name}": use sqlite or postgres`);
    } finally {
      await postgres?.stop();
    }
  }
}

export function startServer(home: Readonly<Record<string, string>>): Promise<Program> {
  return startPosternServer(home['POSTERN_DATA_DIR'] ?? '', {
    POSTERN_ROLES: 'api,events',
    POSTERN_EVENTS_ALLOW_CIDRS: '127.0.0.0/8',
    POSTERN_API_RATE_LIMIT: '0',
    ...home,
  });
}

export function startReceiver(): Promise<Program> {
  return startProgram([RECEIVER], {});
}

/** A subscription with its own webhook; returns the id of the destination. */
export async function addLane(server: Program, receiver: Program, isPaused = false): Promise<string> {
  const url = `http://127.0.0.1:${receiver.port}/`;
  const destination = await call(server.port, 'POST', '/event_destinations', { target: { webhook: { url } } });
  const id = String(destination['id']);
  await call(server.port, 'POST', '/event_subscriptions', { sources: [{ type: TYPE }], destination_ids: [id] });
  if (isPaused) await move(server, id, 'pause');
  return id;
}

export async function move(server: Program, destinationId: string, action: 'pause' | 'resume'): Promise<void> {
  const path = `/event_destinations/${destinationId}/${action}`;
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method: 'POST', headers });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
}

/** What the receiver has seen since the last call, once that is at least `count`. */
export async function arrivals(receiver: Program, count: number, patienceMs = 120_000): Promise<Arrivals> {
  const deadline = performance.now() + patienceMs;
  const ask = async (path: string): Promise<Arrivals> =>
    (await (await fetch(`http://127.0.0.1:${receiver.port}/${path}`)).json()) as Arrivals;
  for (;;) {
    const seen = await ask('count');
    if (seen.count >= count) return ask('arrivals');
    if (performance.now() > deadline) throw new Error(`${seen.count} of ${count} deliveries arrived in time`);
    await sleep(100);
  }
}

const BATCH = 1_000;

/** Records events in the store of a stopped server, as the recorder would. */
export async function fillWithEvents(home: Readonly<Record<string, string>>, count: number): Promise<void> {
  const { config } = loadConfig({ flags: new Map(), env: home });
  const store = await openStore(config, systemClock);
  const ksuid = createKsuidSource();
  for (let done = 0; done < count; done += BATCH) {
    const nowMs = Date.now();
    const events = Array.from({ length: Math.min(BATCH, count - done) }, (_, at) => {
      const id = `ev_${ksuid(nowMs)}`;
      return { id, type: TYPE, createdAtMs: nowMs, payload: payloadOf(id, store.accountId, nowMs, done + at) };
    });
    await store.events.record(events);
  }
  await store.close();
}

function payloadOf(id: string, accountId: string, nowMs: number, at: number) {
  const timestamp = new Date(nowMs).toISOString();
  return {
    event_id: id,
    event_type: TYPE,
    event_timestamp: timestamp,
    account_id: accountId,
    principal: { id: 'ak_2xTBRYyAGbKhLj6yTX5Z9PUrPMA', subject: 'user@example.com' },
    object: {
      id: `ipp_${at}`,
      uri: `http://127.0.0.1:4080/ip_policies/ipp_${at}`,
      created_at: timestamp,
      description: 'one of many',
      metadata: '',
      ip_policy_rules: { uri: `http://127.0.0.1:4080/ip_policy_rules`, ids: [] },
    },
  };
}
