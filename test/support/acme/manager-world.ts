import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../../src/kit/clock.ts';
import { createKsuidSource } from '../../../src/kit/text/ksuid.ts';
import { Accounts, type AccountsOptions } from '../../../src/proxy/acme/accounts.ts';
import { CertificateManager, type ManagerOptions } from '../../../src/proxy/acme/certificate-manager.ts';
import { openAcmeFetch } from '../../../src/proxy/acme/client/acme-fetch.ts';
import { AcmeServer } from '../../../src/proxy/acme/client/acme-server.ts';
import { openPostgresStore } from '../../../src/store/postgres/open-postgres-store.ts';
import { Replica } from '../../../src/store/replica/replica.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open-sqlite-store.ts';
import type { Store } from '../../../src/store/store.ts';
import type { Cleanup } from '../cleanup.ts';
import { tempDir } from '../temp-dir.ts';
import type { FakeAcmeServer } from './fake-acme-server.ts';

const SECRET_KEY = Buffer.alloc(32, 7).toString('base64');

/** A clock that the test moves. */
export class MovedClock implements Clock {
  #offsetMs = 0;

  nowMs(): number {
    return Date.now() + this.#offsetMs;
  }

  advance(ms: number): void {
    this.#offsetMs += ms;
  }
}

export interface NodeOptions extends Partial<Omit<ManagerOptions, 'accounts'>> {
  readonly servers: readonly FakeAcmeServer[];
  readonly clock?: Clock;
  readonly dataDir?: string;
  readonly databaseUrl?: string;
  readonly account?: Partial<AccountsOptions>;
  readonly caFile?: string;
  readonly furtherOrigins?: readonly string[];
  /** For one request to the server. */
  readonly timeoutMs?: number;
}

/** Everything of a server that orders certificates, and nothing else. */
export interface AcmeNode {
  readonly store: Store;
  readonly replica: Replica;
  readonly manager: CertificateManager;
  readonly dataDir: string;
  /** Lines of the log, as JSON. */
  readonly log: string[];
  readonly outcomes: string[];
  /** Adds an edge with these hosts. */
  edge(...hosts: readonly string[]): Promise<string>;
  put(kind: string, id: string, doc: object): Promise<void>;
  remove(kind: string, id: string): Promise<void>;
  close(): Promise<void>;
}

let idCount = 0;

export async function openNode(test: Cleanup, options: NodeOptions): Promise<AcmeNode> {
  const {
    servers,
    clock = new MovedClock(),
    databaseUrl: url,
    account,
    caFile,
    timeoutMs,
    furtherOrigins = [],
    ...overrides
  } = options;
  const holder: { node?: AcmeNode } = {};
  // Registered first: the store closes before its directory is deleted.
  test.after(async () => holder.node?.close());
  const dataDir = options.dataDir ?? (await tempDir(test));
  const shared = { dataDir, secretKey: SECRET_KEY, clock };
  const store = url === undefined ? await openSqliteStore(shared) : await openPostgresStore({ url, ...shared });
  const replica = await Replica.open(store);
  const client = openAcmeFetch(caFile ?? servers[0]?.caFile ?? null, timeoutMs);
  const closing = new AbortController();
  const ksuid = createKsuidSource();
  const [log, outcomes]: [string[], string[]] = [[], []];
  const write = (fields: object, message: string): void => void log.push(JSON.stringify({ ...fields, message }));
  const known = new Map<string, AcmeServer>();
  const serverOf = (directoryUrl: string): AcmeServer => {
    const server =
      known.get(directoryUrl) ??
      new AcmeServer({ directoryUrl, furtherOrigins, fetch: client.fetch, clock, closing: closing.signal });
    known.set(directoryUrl, server);
    return server;
  };
  const logger = { info: write, warn: write, error: write };
  const directories = servers.map(({ directoryUrl }) => directoryUrl);
  const manager = new CertificateManager({
    store,
    replica,
    clock,
    bootId: `nd_${ksuid(Date.now())}`,
    ownNames: [],
    maxOrders: 10,
    newId: () => `mc_${ksuid(Date.now())}`,
    finished: (outcome) => void outcomes.push(outcome),
    accounts: new Accounts({
      store,
      replica,
      clock,
      email: null,
      binding: null,
      onlyDirectoryUrl: null,
      keyDays: 0,
      log: logger,
      ...account,
    }),
    serverOf,
    directories,
    challenges: ['tls-alpn-01', 'http-01'],
    profile: null,
    dns: null,
    resolve: async () => ['127.0.0.1'],
    propagationMs: 0,
    wait: (ms, signal) => sleep(Math.min(ms, 20), undefined, { signal }),
    random: () => 0.5,
    event: () => [],
    log: logger,
    ...overrides,
  });
  let closed: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    closing.abort();
    await manager.close();
    client.close();
    replica.close();
    await store.close();
  };
  const node: AcmeNode = {
    store,
    replica,
    manager,
    dataDir,
    log,
    outcomes,
    edge: async (...hosts) => {
      idCount += 1;
      const id = `edghts_${idCount}`;
      await node.put('https_edge', id, { hostports: hosts.map((host) => `${host}:443`) });
      return id;
    },
    put: async (kind, id, doc) => {
      const put = { kind, id, parent: null, doc: doc as never, secrets: null, uniqueKeys: [], references: [] };
      const result = await store.commit({ puts: [put] });
      if (!result.ok) throw new Error(result.reason);
    },
    remove: async (kind, id) => {
      await store.commit({ deletes: [{ kind, id }] });
    },
    close: () => {
      closed ??= close();
      return closed;
    },
  };
  holder.node = node;
  return node;
}
