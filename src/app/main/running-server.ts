import type { DestinationStream } from 'pino';
import type { LocalToken } from '../../control/api/authentication.ts';
import type { Bootstrapped } from '../../control/bootstrap.ts';
import type { IdentityPage, IdentitySessions } from '../../control/identity/contracts.ts';
import type { SessionCommands } from '../../control/resources/tunnel_sessions/tunnel-sessions.ts';
import type { Clock } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { ServerLog } from '../../kit/logging/logger.ts';
import type { ListenAddress, ListenAddresses } from '../../kit/net/listen-address.ts';
import type { Module } from '../../modules/contract/module.ts';
import type { ResolveName } from '../../proxy/acme/orders/dns-diagnosis.ts';
import type { DnsLookup } from '../../proxy/dns/servers/dns-lookup.ts';
import type { RequestHistory } from '../../proxy/telemetry/requests/request-history.ts';
import type { Replica } from '../../store/replica/replica.ts';
import type { Store } from '../../store/store.ts';
import type { HandoverParts } from './handover/hand-over.ts';
import type { Predecessor } from './handover/predecessor.ts';
import type { ListeningSockets } from './sockets/listening-sockets.ts';
import type { EdgeWorkers } from './workers/edge-workers.ts';

export interface ServerOptions {
  readonly clock?: Clock;
  /** Replaces the clock that bounds how long a node may not know what was revoked. */
  readonly monotonicMs?: () => number;
  readonly logDestination?: DestinationStream;
  /** Whether a person reads the output. */
  readonly isTerminal?: boolean;
  /** Sends commands to agents; tests pass their own. */
  readonly sessionCommands?: SessionCommands;
  /** Replaces the registry; tests add their own modules. */
  readonly modules?: readonly Module[];
  /** Replaces the system's resolver in diagnoses of failed certificate orders. */
  readonly resolveName?: ResolveName;
  /** Replaces the system's resolver where records of dns-01 are published. */
  readonly dnsLookup?: DnsLookup;
  /** Settings in effect, with secrets masked, for GET /settings. */
  readonly settings?: readonly JsonObject[];
  /** The configuration file that this process read; null: none. */
  readonly configFile?: string | null;
  /** Where listening sockets come from; by default they are new. */
  readonly sockets?: ListeningSockets;
  /** Replaces the pages of the identity host; tests log people in without passkeys. */
  readonly identityPages?: (sessions: IdentitySessions) => readonly IdentityPage[];
  /** The process that this one takes over from. */
  readonly predecessor?: Predecessor | null;
}

export interface CloseOptions {
  /** Another process has taken over: its listeners are open, so nobody is turned away meanwhile. */
  readonly isHandedOver?: boolean;
  onDeliveryEnded?(): void;
}

export interface RunningServer {
  readonly addresses: {
    readonly api: ListenAddress;
    readonly edge?: ListenAddress;
    readonly edgeHttp?: ListenAddress;
    /** All of them, the first included. */
    readonly edgeAll?: ListenAddresses;
    readonly edgeHttpAll?: ListenAddresses;
    readonly tunnel?: ListenAddress;
    readonly peer?: ListenAddress;
  };
  /** The prefix of every `uri`, without a trailing slash. */
  readonly baseUrl: string;
  /** Values created on this first start, to be shown to a person. */
  readonly bootstrapped: Bootstrapped;
  readonly log: ServerLog;
  /** For tests, which feed live state (tunnels, logins, deliveries) through it. */
  readonly store: Store;
  readonly replica: Replica;
  /** The last requests of this node. */
  readonly history: RequestHistory;
  /** The threads that serve visitors; null: the server's own does. */
  readonly workers: EdgeWorkers | null;
  /** A new link that makes somebody the first administrator. Null: there is one, or identity is off. */
  administratorLink(): Promise<string | null>;
  /** For a command on this machine that has no API key. */
  localToken(): LocalToken | null;
  /** For another process that takes over from this one. */
  readonly handover: HandoverParts;
  /** Uses certificate files that changed, now rather than at the next check. Rejects if they cannot be used. */
  refreshCertificates(): Promise<void>;
  /** Applies the file of the setting `sites` again. What is wrong becomes a problem of the node. */
  applySites(): Promise<void>;
  /** Drains, then closes everything in reverse order. Safe to call again, but only the first call waits. */
  close(options?: CloseOptions): Promise<void>;
}
