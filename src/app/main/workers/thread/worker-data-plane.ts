import { createHmac } from 'node:crypto';
import { Registry } from 'prom-client';
import { kindOfIdIn } from '../../../../control/documents/kind-of-id.ts';
import { identityAddress } from '../../../../control/identity/contracts.ts';
import type { WholeAnswer, WholeRequest } from '../../../../kit/http/whole-request.ts';
import { followBugs } from '../../../../kit/logging/logger.ts';
import type { DescriptorBudget } from '../../../../kit/process/descriptor-budget.ts';
import { SharedTally } from '../../../../kit/process/shared-memory.ts';
import { modules } from '../../../../modules/registry.ts';
import type { EdgeTallies } from '../../../../proxy/edge/admission.ts';
import { AcceptedSockets } from '../../../../proxy/edge/listeners/edge-listener.ts';
import type { SharedSecret } from '../../../../proxy/edge/tls/host-servers.ts';
import { purposeSeals } from '../../../../store/keyring.ts';
import type { Store } from '../../../../store/store.ts';
import { type EdgeParts, openDataPlane, proxiedClients } from '../../data-plane/data-plane.ts';
import { openDescriptorBudget } from '../../data-plane/descriptors.ts';
import { createOwnIssuer } from '../../data-plane/own-issuer.ts';
import { openServerTracing, SEND_REST_WITHIN_MS } from '../../data-plane/tracing.ts';
import { remoteBudgets, type WorkerStart } from '../worker-protocol.ts';
import { type ReportedTraffic, reportTraffic } from './reported-traffic.ts';
import type { ThreadParts, WorkerDataPlane } from './thread-parts.ts';

/** The data plane in this worker: the records of the replica are here. */
export async function openWorkerDataPlane(parts: ThreadParts): Promise<WorkerDataPlane> {
  const { start, log } = parts;
  const { config, node } = start;
  const { logger } = log;
  const registry = new Registry();
  followBugs(logger, registry);
  const { budget: descriptors } = openDescriptorBudget({ registry, logger: null, isOneOfSeveral: true });
  const reported = reportTraffic(parts);
  const store = storeOf(parts);
  const tracing = await openServerTracing({ config, store, registry, logger, node });
  const clientsOf = proxiedClients({ config, logger, registry, descriptors });
  const plane = await openDataPlane(
    edgePartsOf(parts, { reported, registry, descriptors, store, tracing, clientsOf }),
    // The main thread hands on connections once visitors are admitted.
    (_socket, enter) => enter(),
  );
  const { edge, snapshots, visitors } = plane;
  const listeners = { https: new AcceptedSockets(visitors.https), http: new AcceptedSockets(visitors.http) };
  return {
    ...{ edge, snapshots, registry, clientsOf },
    accept: (listener, socket) => listeners[listener].accept(socket),
    ask: (question) => reported.ask(question),
    watch: (isWatched) => reported.watch(isWatched),
    drain: async (timeoutMs, how) => {
      for (const listener of Object.values(listeners)) listener.stop(how?.lingerMs);
      await edge.drain(timeoutMs, how);
      for (const listener of Object.values(listeners)) listener.cut();
      reported.end();
      await plane.close();
      await tracing?.close(SEND_REST_WITHIN_MS);
      log.flush();
    },
  };
}

/** The main thread has the store. */
function storeOf({ main, keyring }: ThreadParts): EdgeParts['store'] & Pick<Store, 'mac'> {
  return { commit: (writeSet) => main.call('commit', writeSet), ...purposeSeals(keyring) };
}

interface OwnParts extends Pick<EdgeParts, 'registry' | 'tracing' | 'clientsOf'> {
  readonly reported: ReportedTraffic;
  readonly store: ReturnType<typeof storeOf>;
  readonly descriptors: DescriptorBudget;
}

function edgePartsOf(parts: ThreadParts, own: OwnParts): EdgeParts {
  const { start, main, log, status, clock, replica, logins, tunnels, addressLists } = parts;
  const { reported, store, descriptors, registry, tracing, clientsOf } = own;
  const { logger, requestLogger } = log;
  const { traffic, backendTraffic, history } = reported;
  return {
    ...ownProvider(parts, store),
    ...{ config: start.config, store, replica, logins, clock, logger, requestLogger, registry, own: parts.own },
    ...{ traffic, backendTraffic, history, tracing, clientsOf, tunnels, addressLists },
    attempts: remoteBudgets({
      redeem: (callback, state) => main.call('redeem', callback, state),
      guess: (callback) => main.call('guess', callback),
      checkPassword: (claim) => main.call('checkPassword', claim),
      endAttempt: (number, outcome) => main.tell('endAttempt', [number, outcome]),
    }),
    others: {
      get isCurrent() {
        return status.isCurrent;
      },
      catchUp: () => main.call('catchUp'),
    },
    catalog: { modules, kindOfId: kindOfIdIn(start.kindsByPrefix) },
    internalCa: () => Promise.resolve({ mintLeaf: (request) => main.call('mintLeaf', request) }),
    nodeMemories: start.nodeMemories,
    thread: start.index,
    ticketSecret: ticketSecretOf(start, store.mac),
    tallies: talliesOf(start),
    descriptors: {
      admits: (use) => descriptors.admits(use),
      // Each worker counts for itself which visitors have connections to upstreams.
      free: (use) => descriptors.free(use) / (use === 'upstream' ? start.count : 1),
    },
    mayServeNames: () => status.mayServe,
    inheritedPort: () => null,
    publicPorts: () => start.publicPorts,
    isLazy: true,
  };
}

/** Postern's own OpenID provider, which is in the main thread. */
function ownProvider(
  { start, main, replica: reader }: ThreadParts,
  { mac }: Pick<Store, 'mac'>,
): Pick<EdgeParts, 'ownHost' | 'ownIssuer'> {
  const address = identityAddress(start.config.identity_host);
  if (address === null) return { ownHost: null, ownIssuer: null };
  const { hostname, issuer } = address;
  const serve = (request: WholeRequest): Promise<WholeAnswer> => main.call('serveOwnHost', request);
  return { ownHost: { hostname, serve }, ownIssuer: createOwnIssuer({ issuer, reader, mac, serve }) };
}

function talliesOf({ tallies, index }: WorkerStart): EdgeTallies {
  const tally = (name: keyof EdgeTallies): SharedTally => new SharedTally(tallies[name], index);
  return {
    requests: tally('requests'),
    streams: tally('streams'),
    connections: tally('connections'),
    handshakes: tally('handshakes'),
    plainConnections: tally('plainConnections'),
  };
}

function ticketSecretOf({ ticketSecret }: WorkerStart, mac: (purpose: string, text: string) => string): SharedSecret {
  if (ticketSecret === null) return (text) => Buffer.from(mac('tls-ticket', text), 'hex');
  return (text) => createHmac('sha256', ticketSecret).update(text).digest();
}
