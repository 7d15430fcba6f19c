import type { DestinationStream } from 'pino';
import type { ResolveName } from '../acme/orders/dns-diagnosis.ts';
import type { DnsLookup } from '../dns/servers/dns-lookup.ts';
import type { IdentityPage, IdentitySessions } from '../identity/contracts.ts';
import type { Clock } from '../lib/clock.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Module } from '../modules/contract/module.ts';
import type { SessionCommands } from '../resources/tunnel_sessions/tunnel-sessions.ts';
import type { Predecessor } from './handover/predecessor.ts';
import type { ListeningSockets } from './sockets/listening-sockets.ts';

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
  /** Where listening sockets come from; by default they are new. */
  readonly sockets?: ListeningSockets;
  /** Replaces the pages of the identity host; tests log people in without passkeys. */
  readonly identityPages?: (sessions: IdentitySessions) => readonly IdentityPage[];
  /** The process that this one takes over from. */
  readonly predecessor?: Predecessor | null;
}
