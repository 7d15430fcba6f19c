/** Modules of an ephemeral endpoint by name, as its agent sends them: each module decodes its own form. */
export type EndpointModules = Record<string, unknown>;

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

/** `agent`: this node has a connection of its agent. `directory`: another node announces it. */
type EndpointOwner = 'agent' | 'directory';

interface Shared {
  readonly owners: Set<EndpointOwner>;
  readonly publication: Promise<Publication>;
}

/**
 * The same endpoint may be published for two reasons: another node announces it, and this one has a connection of its
 * agent. It is withdrawn with the last reason, so it stays when a connection or a node comes and goes.
 */
export class SharedEndpoints {
  readonly #publisher: EndpointPublisher;
  readonly #shared = new Map<string, Shared>();

  constructor(publisher: EndpointPublisher) {
    this.#publisher = publisher;
  }

  as(owner: EndpointOwner): EndpointPublisher {
    return {
      isCoveredByEdge: (host) => this.#publisher.isCoveredByEdge(host),
      publish: (endpoint) => this.#publish(owner, endpoint),
      withdraw: (endpointId) => this.#withdraw(owner, endpointId),
    };
  }

  async #publish(owner: EndpointOwner, endpoint: NewEndpoint): Promise<Publication> {
    const known = this.#shared.get(endpoint.id);
    const shared = known ?? { owners: new Set(), publication: this.#publisher.publish(endpoint) };
    shared.owners.add(owner);
    if (known === undefined) this.#shared.set(endpoint.id, shared);
    try {
      const published = await shared.publication;
      if (!published.ok) this.#forget(endpoint.id, shared);
      // Everybody has withdrawn it while its port was being opened.
      else if (shared.owners.size === 0) this.#publisher.withdraw(endpoint.id);
      return published;
    } catch (error) {
      this.#forget(endpoint.id, shared);
      throw error;
    }
  }

  #withdraw(owner: EndpointOwner, endpointId: string): void {
    const shared = this.#shared.get(endpointId);
    if (shared === undefined || !shared.owners.delete(owner) || shared.owners.size > 0) return;
    this.#forget(endpointId, shared);
    this.#publisher.withdraw(endpointId);
  }

  #forget(endpointId: string, shared: Shared): void {
    if (this.#shared.get(endpointId) === shared) this.#shared.delete(endpointId);
  }
}
