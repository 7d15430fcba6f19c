import type { Clock } from '../../../kit/clock.ts';
import type { WholeAnswer, WholeRequest } from '../../../kit/http/whole-request.ts';
import type { LatePart } from '../../../kit/late-part.ts';
import { LruMap } from '../../../kit/lru-map.ts';
import type { ConfiguredBy } from '../../../modules/contract/agent-form.ts';
import type { ModuleNetwork } from '../../../modules/contract/keeps-state.ts';
import { issuerPorts } from '../../../modules/login/issuer-problem.ts';
import { login } from '../../../modules/login/login.ts';
import {
  answerAboutIssuer,
  fetchedIssuers,
  type IssuerSources,
  keptIssuers,
} from '../../../modules/login/provider/providers.ts';
import { settingsOf } from '../../../modules/module-settings.ts';
import type { InternalCa, LeafCertificate, LeafCertificateRequest } from '../../../proxy/pki/internal-ca.ts';
import type { OwnHost } from '../../../proxy/snapshot/edge-snapshot.ts';
import { upstreamGuard } from '../../../proxy/upstream/upstream-guard.ts';
import type { Config } from '../../settings/schema.ts';
import { moduleNetwork } from '../data-plane/module-runtimes.ts';
import type { EdgeWorkers } from './edge-workers.ts';
import type { WorkerAgents } from './worker-agents.ts';
import type { MainMethods } from './worker-protocol.ts';
import { attemptsOfWorker } from './worker-protocol.ts';
import type { PublishedStatus, WorkersDependencies } from './workers-memory.ts';

type Methods = Omit<MainMethods, 'served' | 'unlinked'>;

interface ForWorkers {
  readonly workers: LatePart<EdgeWorkers>;
  readonly agents: WorkerAgents;
  readonly status: PublishedStatus;
}

/** What the main thread does for each worker. */
export async function mainMethods(
  deps: WorkersDependencies,
  { workers, agents, status }: ForWorkers,
): Promise<(index: number) => Methods> {
  const { config, replica, clock, logins, others, traffic, own } = deps;
  const leafCertificates = new LeafCertificates(await deps.internalCa(), clock);
  const issuers = issuersOf(config, upstreamGuard(config.upstream_allow_cidrs, own), clock);
  return (index) => ({
    ...agents.reportsOf(index),
    ...attemptsOfWorker(deps.attempts),
    commit: (writeSet) => deps.store.commit(writeSet),
    refresh: () => replica.refresh(),
    catchUp: async () => {
      await others.catchUp();
      await workers.get().settled();
      status.publish();
    },
    moduleEvent: (type, object) => traffic.moduleEvent(type, object),
    login: (method, args) => (logins[method] as (...args: readonly unknown[]) => Promise<unknown>)(...args),
    keyReplaced: (key) => workers.get().tell('keyReplaced', key),
    seenLogins: (question) => workers.get().seenLogins(question),
    askIssuer: (question) => answerAboutIssuer(issuers, question),
    mintLeaf: (request) => leafCertificates.get(request),
    finished: (requests) => {
      for (const facts of requests) traffic.requestComplete(facts);
    },
    connectionClosed: (id, facts) => traffic.connectionClosed(id, facts),
    backends: (counts) => deps.backendTraffic.add(counts),
    serveOwnHost: (request) => serveOwnHost(deps.ownHost, request),
    watched: (requests) => {
      for (const request of requests) deps.history.tell(request);
    },
  });
}

/** Bytes lose their type on the way between threads. */
async function serveOwnHost(host: OwnHost | null, request: WholeRequest): Promise<WholeAnswer> {
  if (host === null) throw new Error('there is no identity host');
  return host.serve({ ...request, body: Buffer.from(request.body) });
}

/** What issuers publish, fetched once for all workers. */
function issuersOf(
  config: Config,
  isAddressAllowed: ModuleNetwork['isAddressAllowed'],
  clock: Clock,
): Readonly<Record<ConfiguredBy, IssuerSources>> {
  const ports = issuerPorts(settingsOf(config.moduleSettings, login), moduleNetwork(isAddressAllowed), clock);
  return { operator: keptIssuers(fetchedIssuers(ports.operator)), agent: keptIssuers(fetchedIssuers(ports.agent)) };
}

const MAX_CERTIFICATES = 10_000;
/** A worker asks for the next one this long before the end: it must not get the same again. */
const RENEW_BEFORE_MS = 31 * 24 * 60 * 60 * 1000;

/** Leaf certificates of the internal CA, the same for all workers. */
class LeafCertificates {
  readonly #ca: Pick<InternalCa, 'mintLeaf'>;
  readonly #clock: Clock;
  readonly #minted = new LruMap<string, Promise<LeafCertificate>>(MAX_CERTIFICATES);

  constructor(ca: Pick<InternalCa, 'mintLeaf'>, clock: Clock) {
    this.#ca = ca;
    this.#clock = clock;
  }

  async get(request: LeafCertificateRequest): Promise<LeafCertificate> {
    const key = JSON.stringify(request);
    const known = this.#minted.get(key);
    const leaf = await known?.catch(() => undefined);
    if (leaf !== undefined && leaf.notAfterMs - this.#clock.nowMs() > RENEW_BEFORE_MS) return leaf;
    // Another worker may have asked in the meantime.
    const current = this.#minted.get(key);
    if (current !== undefined && current !== known) return current;
    const minted = this.#ca.mintLeaf(request);
    this.#minted.set(key, minted);
    return minted;
  }
}
