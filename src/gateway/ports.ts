import type { Clock } from '../lib/clock.ts';
import type { PresenceStore } from '../store/store.ts';
import type { EndpointModules } from '../tunnel/messages.ts';
import type { OnlineTunnelTable } from './online-tunnel-table.ts';

export interface GatewayPorts {
  readonly clock: Clock;
  readonly presence: PresenceStore;
  readonly bootId: string;
  readonly region: string;
  /** Base domain of names that nobody asked for. */
  readonly domain: string;
  readonly credentials: Credentials;
  /** Filled here, read by whoever serves traffic. */
  readonly table: OnlineTunnelTable;
  readonly endpoints: EndpointPublisher;
  readonly log: GatewayLog;
  newId(prefix: string): string;
  /** Somebody connected, bound or left: for events. */
  readonly events: GatewayEvents;
}

export interface GatewayLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface Credentials {
  find(token: string): { readonly id: string; readonly acl: readonly string[] } | null;
  get(id: string): { readonly acl: readonly string[] } | null;
  /** A credential was changed or deleted. */
  onChange(listener: (credentialId: string) => void): () => void;
}

export interface GatewayEvents {
  sessionStarted(sessionId: string): void;
  sessionStopped(sessionId: string): void;
  tunnelStarted(tunnelId: string): void;
  tunnelStopped(tunnelId: string): void;
}

/** What the gateway needs of the part that serves traffic. */
export interface EndpointPublisher {
  /** Whether an edge answers for this host, by its name or by a wildcard. */
  isCoveredByEdge(host: string): boolean;
  /** From when it resolves on, the endpoint gets traffic. A refusal has words for the agent's user. */
  publish(endpoint: NewEndpoint): Promise<Publication>;
  withdraw(endpointId: string): void;
}

export interface NewEndpoint {
  readonly id: string;
  readonly tunnelId: string;
  readonly proto: 'http' | 'https' | 'tcp' | 'tls';
  /** For http, https and tls. */
  readonly host: string | null;
  /** For tcp: the port that is wanted, or null for any. */
  readonly port: number | null;
  readonly modules: EndpointModules;
}

export type Publication =
  | {
      readonly ok: true;
      /** `https://name.localhost:7443`, `tcp://127.0.0.1:20001`. */
      readonly url: string;
      readonly hostport: string;
    }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly retry: boolean };
