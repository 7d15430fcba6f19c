import type { EndpointModules } from '../../tunnel/messages.ts';

/** What the gateway needs of the part that serves traffic. */
export interface EndpointPublisher {
  /** Whether an edge answers for this host, by its name or by a wildcard. */
  isCoveredByEdge(host: string): boolean;
  /** From when it resolves on, the endpoint gets traffic. A refusal has words for the agent's user. */
  publish(endpoint: NewEndpoint): Promise<Publication>;
  /** Traffic under way is cut. */
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
