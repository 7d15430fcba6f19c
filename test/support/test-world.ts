import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { RunningServer } from '../../src/app/main/running-server.ts';
import { type ServerOptions, startServer } from '../../src/app/main/server.ts';
import { loadConfig } from '../../src/app/settings/load.ts';
import { shownSettings } from '../../src/app/settings/print.ts';
import type { SessionCommand } from '../../src/control/resources/tunnel_sessions/tunnel-sessions.ts';
import type { Clock } from '../../src/kit/clock.ts';
import type { Module } from '../../src/modules/contract/module.ts';
import type { Cleanup } from './cleanup.ts';

export const TEST_API_KEY = 'test-api-key-0123456789abcdefghij';

/** An alert takes a revision: tests that count them must not depend on the disk of the machine. */
const ALERTS_OFF = {
  POSTERN_ALERT_AGENT_AWAY: '0',
  POSTERN_ALERT_BACKEND_FAILING: '0',
  POSTERN_ALERT_CERTIFICATE_DAYS: '0',
  POSTERN_ALERT_CIRCUIT_OPEN: '0',
  POSTERN_ALERT_DELIVERY_STUCK: '0',
  POSTERN_ALERT_DISK_PERCENT: '0',
  POSTERN_ALERT_DESCRIPTOR_PERCENT: '0',
  POSTERN_ALERT_NODE_LOST: '0',
};

export interface WorldOptions {
  /** PostgreSQL instead of the embedded store. */
  readonly databaseUrl?: string;
  readonly clock?: Clock;
  readonly monotonicMs?: ServerOptions['monotonicMs'];
  /** Settings as environment variables, such as POSTERN_API_RATE_LIMIT. */
  readonly env?: Readonly<Record<string, string>>;
  /** The data directory of an earlier world, to be opened again. */
  readonly dataDir?: string;
  /** Replaces the registry. */
  readonly modules?: readonly Module[];
  readonly resolveName?: ServerOptions['resolveName'];
  readonly dnsLookup?: ServerOptions['dnsLookup'];
  /** The test reaches into the thread that serves. */
  readonly isInOneThread?: true;
  /** Replaces the pages of the identity host. */
  readonly identityPages?: ServerOptions['identityPages'];
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON; null when there was no body. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
  readonly body: any;
  readonly text: string;
}

export interface RequestOptions {
  /** null: without the header. */
  readonly key?: string | null;
  readonly version?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent verbatim, instead of `body` as JSON. */
  readonly rawBody?: string | Uint8Array<ArrayBuffer>;
}

/** With POSTERN_TEST_WORKERS the edge runs in so many threads, which a test's own clock or module cannot reach. */
function inWorkers({ clock, modules, isInOneThread }: WorldOptions): Readonly<Record<string, string>> {
  const { POSTERN_TEST_WORKERS: workers } = process.env;
  const isReachable = clock === undefined || clock.sharedOffset !== undefined;
  return workers !== undefined && isReachable && modules === undefined && isInOneThread !== true
    ? { POSTERN_WORKERS: workers }
    : {};
}

/**
 * The whole server in this process, on port 0 and a temporary directory: a test names only what is special about it.
 */
export class TestWorld {
  readonly server: RunningServer;
  readonly dataDir: string;
  readonly #logLines: string[];
  readonly sessionCommands: { id: string; command: SessionCommand }[];

  private constructor(
    server: RunningServer,
    dataDir: string,
    logLines: string[],
    sessionCommands: { id: string; command: SessionCommand }[],
  ) {
    this.server = server;
    this.dataDir = dataDir;
    this.#logLines = logLines;
    this.sessionCommands = sessionCommands;
  }

  /** Closes itself after the test; for a whole file pass node:test's own `{ after }`. */
  static async open(test: Cleanup, options: WorldOptions = {}): Promise<TestWorld> {
    const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'postern-test-')));
    const logLines: string[] = [];
    const sessionCommands: { id: string; command: SessionCommand }[] = [];
    const env = {
      POSTERN_DATA_DIR: dataDir,
      POSTERN_API_LISTEN: '127.0.0.1:0',
      // The API alone: tests of traffic request the edge, whose setting still determines the port of hosts.
      POSTERN_ROLES: 'api',
      POSTERN_API_KEY: TEST_API_KEY,
      // The documented examples name folders below it, which need not exist.
      POSTERN_FILE_ROOTS: '/srv/www',
      ...ALERTS_OFF,
      ...inWorkers(options),
      ...(options.databaseUrl !== undefined && { POSTERN_DATABASE_URL: options.databaseUrl }),
      ...options.env,
    };
    const loaded = loadConfig({ flags: new Map(), env });
    const logDestination = new Writable({
      write(chunk: Buffer, _encoding, done) {
        logLines.push(...chunk.toString().trimEnd().split('\n'));
        done();
      },
    });
    const server = await startServer(loaded.config, {
      logDestination,
      settings: shownSettings(loaded).map((setting) => ({ ...setting })),
      ...(options.clock !== undefined && { clock: options.clock }),
      ...(options.monotonicMs !== undefined && { monotonicMs: options.monotonicMs }),
      ...(options.modules !== undefined && { modules: options.modules }),
      ...(options.resolveName !== undefined && { resolveName: options.resolveName }),
      ...(options.dnsLookup !== undefined && { dnsLookup: options.dnsLookup }),
      ...(options.identityPages !== undefined && { identityPages: options.identityPages }),
      // With a gateway, commands go to agents.
      ...(!env.POSTERN_ROLES.includes('gateway') && {
        sessionCommands: {
          send: (id, command) => {
            sessionCommands.push({ id, command });
            return Promise.resolve('accepted' as const);
          },
        },
      }),
    });
    const world = new TestWorld(server, dataDir, logLines, sessionCommands);
    // Hooks run in order of registration, so the directory cannot have a separate hook before this one.
    test.after(async () => {
      await world.close();
      if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
    });
    return world;
  }

  /** All lines so far, including those still being buffered. */
  get logLines(): readonly string[] {
    this.server.log.flush();
    return this.#logLines;
  }

  get baseUrl(): string {
    return this.server.baseUrl;
  }

  get store(): RunningServer['store'] {
    return this.server.store;
  }

  async api(method: string, pathOrUri: string, body?: unknown, options: RequestOptions = {}): Promise<ApiAnswer> {
    const { key = TEST_API_KEY, version = '2' } = options;
    const sent = options.rawBody ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await fetch(pathOrUri.startsWith('http') ? pathOrUri : `${this.baseUrl}${pathOrUri}`, {
      method,
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(version !== null && { 'service-version': version }),
        ...(sent !== undefined && { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(sent !== undefined && { body: sent }),
      redirect: 'manual',
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson && text !== '' ? JSON.parse(text) : null,
    };
  }

  async close(): Promise<void> {
    await this.server.close();
  }
}
