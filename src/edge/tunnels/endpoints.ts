import type { EndpointModules } from '../../tunnel/messages.ts';

/** The gateway's view of the part that serves traffic. */
export interface EndpointPublisher {
  /** Whether an edge covers this host, by name or by wildcard. */
  isCoveredByEdge(host: string): boolean;
  /** Once it resolves, the endpoint receives traffic. A refusal carries a message for the agent's user. */
  publish(endpoint: NewEndpoint): Promise<Publication>;
  /** Traffic in progress is cut. */
  withdraw(endpointId: string): void;
}

export interface NewEndpoint {
  readonly id: string;
  readonly tunnelId: string;
  readonly proto: 'http' | 'https' | 'tcp' | 'tls';
  /** For http, https and tls. */
  readonly host: string | null;
  /** For tcp: the requested port, or null for any. */
  readonly port: number | null;
  readonly modules: EndpointModules;
}

export type Publication =
  | {
      readonly ok: true;
      /** `https://name.localhost:7443`, `tcp://127.0.0.1:20001`. */
      readonly publicUrl: string;
      readonly hostport: string;
    }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly retry: boolean };
