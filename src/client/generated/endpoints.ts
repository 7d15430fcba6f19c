// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { Ref } from '../ref.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface Endpoint {
  /** Id, starting with "ep_". */
  readonly id: string;
  /** URI of the endpoint. */
  readonly uri: string;
  /** Region that serves the endpoint. */
  readonly region: string;
  /** When the endpoint started, or when its edge was created. */
  readonly created_at: string;
  /** When the endpoint last changed. For an edge, when the edge was created. */
  readonly updated_at: string;
  /** Public URL of the endpoint. */
  readonly public_url: string;
  /** The same as public_url. */
  readonly url: string;
  /** Its protocol. */
  readonly proto: 'http' | 'https' | 'tcp' | 'tls';
  /** The same as proto. */
  readonly scheme: 'http' | 'https' | 'tcp' | 'tls';
  /** Host and port of public_url. */
  readonly hostport: string;
  /** Host of public_url. */
  readonly host: string;
  /** Port of public_url. */
  readonly port: number;
  /** Whether an agent's tunnel or an edge serves the endpoint. */
  readonly type: 'ephemeral' | 'edge';
  /** Description of the edge; empty for a tunnel, and without the scope edges:read. */
  readonly description: string;
  /** Metadata of the tunnel or the edge; empty without the scope tunnels:read or edges:read. */
  readonly metadata: string;
  /**
   * What the agent demands of visitors, as short texts; empty: everybody may enter. Only for endpoints of agents,
   * and with the scope tunnels:read.
   */
  readonly entry_rules?: readonly string[] | undefined;
  /** The tunnel; null for an edge endpoint. */
  readonly tunnel: Ref | null;
  /** The edge; null for an ephemeral endpoint. */
  readonly edge: Ref | null;
  /** Always empty: endpoints have no names. */
  readonly name: string;
  /** Always empty: see forwards_to of the tunnel. */
  readonly upstream_url: string;
  /** Always empty: see forwards_to of the tunnel. */
  readonly upstream_protocol: string;
  /** Always empty: modules take its place. */
  readonly traffic_policy: string;
  /** Always ["public"]. */
  readonly bindings: readonly string[];
  /** Always false. */
  readonly pooling_enabled: boolean;
  /** Always null: endpoints need no reserved domain. */
  readonly domain: null;
  /** Always null: addresses are not reserved. */
  readonly tcp_addr: null;
  /** Always null: endpoints have no owner. */
  readonly principal: null;
  /** Always null: see tunnel_session of the tunnel. */
  readonly tunnel_session: null;
}

export interface EndpointPage {
  /** The page, newest first. */
  readonly endpoints: readonly Endpoint[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A public address served by an edge or a tunnel. */
export class EndpointsClient extends ResourceClient {
  /** List endpoints: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<Endpoint, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/endpoints', query }, 'endpoints', options);
  }

  /** List endpoints: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<EndpointPage>> {
    return this.call({ method: 'GET', path: '/endpoints', query }, options);
  }

  /** Get an endpoint. Returns 404 if it has ended or was deleted. */
  get(id: string, options?: RequestOptions): Promise<Answer<Endpoint>> {
    return this.call({ method: 'GET', path: '/endpoints/{id}', params: { id } }, options);
  }
}
