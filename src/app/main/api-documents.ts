import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Health } from '../../control/api/health.ts';
import type { Catalog } from '../../control/documents/catalog.ts';
import { Changesets } from '../../control/documents/changesets/changesets.ts';
import { Documents } from '../../control/documents/documents.ts';
import type { DocumentsContext } from '../../control/documents/documents-context.ts';
import { type OperationPorts, operationsOf, WriteOperations } from '../../control/documents/operations.ts';
import { Renderer } from '../../control/documents/renderer.ts';
import { WantedTypes } from '../../control/events/event-recorder.ts';
import type { ForbiddenUpstream } from '../../control/findings/facts.ts';
import { identityAddress } from '../../control/identity/contracts.ts';
import type { MailQueue } from '../../control/identity/mail.ts';
import type { DestinationTester } from '../../control/resources/event_destinations/event-destinations.ts';
import type { Operation } from '../../control/resources/operation.ts';
import type { OnlinePort } from '../../control/resources/ports.ts';
import type { IdentityFacts, ResourceSettings } from '../../control/resources/resource.ts';
import type { SessionCommands } from '../../control/resources/tunnel_sessions/tunnel-sessions.ts';
import { KeyedMutex } from '../../kit/async/turns.ts';
import type { Clock } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import { LatePart } from '../../kit/late-part.ts';
import type { RequestLogger } from '../../kit/logging/logger.ts';
import { publicPorts } from '../../kit/net/host-name.ts';
import type { ListenAddress } from '../../kit/net/listen-address.ts';
import { createKsuidSource } from '../../kit/text/ksuid.ts';
import type { ModuleNetwork } from '../../modules/contract/keeps-state.ts';
import type { OwnIssuer } from '../../modules/contract/own-issuer.ts';
import type { InternalCa } from '../../proxy/pki/internal-ca.ts';
import type { ProblemIndex } from '../../proxy/snapshot/problems.ts';
import type { Replica } from '../../store/replica/replica.ts';
import type { Store } from '../../store/store.ts';
import type { Config } from '../settings/schema.ts';
import { certificateWarning, crlWarning, HostCertificateIndex } from './certificates/certificate-warnings.ts';
import type { OpenedNodes } from './cluster/nodes.ts';
import type { NodeMemories } from './data-plane/module-runtimes.ts';
import type { OpenedTraffic } from './data-plane/traffic.ts';
import { agentInviter, redeemedInvitations } from './invitations.ts';
import { identityScopes } from './people/console-people.ts';

export interface ApiDependencies {
  readonly config: Config;
  readonly store: Store;
  readonly replica: Replica;
  readonly catalog: Catalog;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly apiRequestLogger: RequestLogger;
  readonly health: Health;
  readonly internalCa: () => Promise<InternalCa>;
  readonly baseUrl: string;
  /** Names of agents' tunnels that an edge with this host would take over. */
  tunnelNamesUnder(host: string): readonly string[];
  /** Where this process listens for agents; null: it does not, or not yet. */
  tunnelListen?(): ListenAddress | null;
  readonly problems: ProblemIndex;
  /** Where the server may connect. */
  readonly isAddressAllowed: ModuleNetwork['isAddressAllowed'];
  /** Whether traffic may go there. */
  readonly isBackendAllowed: ModuleNetwork['isAddressAllowed'];
  /** Whether traffic to this upstream reaches this API. */
  readonly isOwnApi: (upstream: string) => boolean;
  /** Why the edge may not connect to this upstream. */
  readonly whyForbidden: (upstream: string) => ForbiddenUpstream | null;
  /** See DocumentsContext. */
  served(revision: number): Promise<void> | null;
  /** Text of the metrics page. Absent: the registry knows it all. */
  metrics?(): Promise<string>;
  /** Absent: what processes have written into the store. */
  readonly online?: OnlinePort;
  /** Sends commands to agents; absent while this process holds none. */
  readonly sessionCommands?: SessionCommands;
  /** Absent where nothing is served. */
  readonly nodes?: Pick<OpenedNodes, 'membership' | 'links' | 'news'>;
  /** Absent where nothing is served. */
  readonly nodeMemories?: NodeMemories;
  /** Absent where nothing is served. */
  readonly requests?: OperationPorts['requests'];
  /** Absent where nothing is served. */
  readonly traffic?: OpenedTraffic;
  /** Settings in effect, with secrets masked. */
  readonly settings?: readonly JsonObject[];
  /** The configuration file that this process read; null: none. */
  readonly configFile?: string | null;
  /** Absent where nothing is served. */
  readonly addressLists?: OperationPorts['addressLists'];
  readonly explain?: OperationPorts['explain'];
  /** Postern's own OpenID provider; null: it is off. */
  readonly ownIssuer: OwnIssuer | null;
  /** Absent: no mail is sent. */
  readonly mail?: MailQueue | null;
  /** Null while this process delivers no events. */
  destinationTester?(): DestinationTester | null;
}

/** The configuration as documents, and the operations on them. */
export interface DocumentsOpened {
  readonly context: DocumentsContext;
  readonly documents: Documents;
  readonly operations: readonly Operation<OperationPorts>[];
  readonly changesets: Changesets;
  /** What operations use. They run once it is open. */
  readonly latePorts: LatePart<OperationPorts>;
  readonly settings: ResourceSettings;
  readonly renderer: Renderer;
  readonly hostCertificates: HostCertificateIndex;
  readonly invitations: ReturnType<typeof redeemedInvitations>;
  readonly newId: (prefix: string) => string;
  readonly newToken: (prefix: string) => string;
  /** Whether a subscription wants events of this type. */
  readonly isWanted: (type: string) => boolean | 'unknown';
}

export function openDocuments(deps: ApiDependencies): DocumentsOpened {
  const { config, store, replica, catalog, clock, baseUrl, problems, nodeMemories } = deps;
  const ksuid = createKsuidSource();
  const newId = (prefix: string): string => `${prefix}_${ksuid(clock.nowMs())}`;
  const newToken = (prefix: string): string => `${prefix}${randomBytes(32).toString('base64url')}`;
  const renderer = new Renderer(catalog, () => baseUrl);
  const isWanted = wantedTypes(store, replica);
  const hostCertificates = new HostCertificateIndex(replica, clock);
  const warnings = { hostCertificates, clock, isAcmeOn: config.acme === 'on' };
  const settings = settingsOfResources(deps);
  const latePorts = new LatePart<OperationPorts>('what operations use');
  const context: DocumentsContext = {
    ...{ catalog, settings, store, replica, renderer, clock, newId, newToken },
    events: { renderer, accountId: store.accountId, isWanted, newId, nowMs: () => clock.nowMs() },
    mutex: new KeyedMutex(),
    served: (revision) => deps.served(revision),
    problemOf: (recordId) => problems.lineOf(recordId),
    warningOf: (record) => certificateWarning(record, warnings) ?? crlWarning(record, replica, clock),
    afterCommit: (task) => task(),
    moduleState: (module) => ({ memory: nodeMemories?.get(module) ?? null, nowMs: clock.nowMs() }),
    ports: () => latePorts.get(),
  };
  const documents = new Documents(context);
  const operations = operationsOf(catalog, documents);
  return {
    ...{ context, documents, operations, latePorts, settings, renderer, hostCertificates, newId, newToken, isWanted },
    changesets: new Changesets(context, new WriteOperations(operations)),
    invitations: redeemedInvitations(context, replica),
  };
}

/**
 * A single process knows of a subscription before its creation is answered; where several share a store, others learn
 * of it later.
 */
function wantedTypes(store: Store, replica: Replica): DocumentsOpened['isWanted'] {
  const wanted = new WantedTypes(replica);
  return (type) => wanted.has(type) || (store.sharing.isShared && 'unknown');
}

function settingsOfResources(deps: ApiDependencies): ResourceSettings {
  const { config, replica, clock, catalog, internalCa } = deps;
  const listening = config.edge_listen.map(({ port }) => port);
  return {
    // Port 0 means "any free one": only the edge will know which.
    edgePorts: listening.includes(0) ? null : publicPorts({ listening, mapped: config.edge_host_ports }),
    tunnelNamesUnder: (host) => deps.tunnelNamesUnder(host),
    certificateFileDirs: config.certificate_file_dirs,
    fileRoots: config.file_roots,
    dataDir: resolve(config.data_dir),
    region: config.region,
    domain: config.domain,
    moduleSettings: config.moduleSettings,
    scopes: catalog.scopes,
    eventTypes: catalog.eventTypes.map((each) => each.type),
    inviteAgent: agentInviter({
      ...{ config, replica, clock, internalCa },
      listen: () => deps.tunnelListen?.() ?? null,
      nodes: () => deps.nodes?.membership.nodes() ?? [],
    }),
    identity: identityFacts(config, deps.mail ?? null),
    consoleScopesOf: identityScopes(config, catalog.scopes),
  };
}

function identityFacts(config: Config, mail: MailQueue | null): IdentityFacts | null {
  const address = identityAddress(config.identity_host);
  if (address === null) return null;
  const invitationMs = config.identity_invitation_hours * 3_600_000;
  return { ...address, invitationMs, mail: (message) => mail?.put(message) ?? null };
}
