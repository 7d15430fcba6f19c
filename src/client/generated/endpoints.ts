// Made from the schemas of src/resources and src/modules by "npm run generate". Do not edit.
import type { Answer } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { Ref } from '../ref.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface Endpoint {
  /** Id, starting with "ep_". */
  readonly id: string;
  /** Region that answers. */
  readonly region: string;
  /** When it came up, or its edge was created. RFC 3339, UTC. */
  readonly created_at: string;
  /** When it last changed; of an edge, when that was created. RFC 3339, UTC. */
  readonly updated_at: string;
  /** Where it is reached. */
  readonly public_url: string;
  /** Its protocol. */
  readonly proto: 'http' | 'https' | 'tcp' | 'tls';
  /** Host and port of public_url. */
  readonly hostport: string;
  /** Whether an agent's tunnel or an edge answers. */
  readonly type: 'ephemeral' | 'edge';
  /** Metadata of the tunnel or the edge. */
  readonly metadata: string;
  /** The tunnel, for an ephemeral endpoint. */
  readonly tunnel?: Ref | undefined;
  /** The edge, for an edge endpoint. */
  readonly edge?: Ref | undefined;
}

export interface EndpointPage {
  /** The page, newest first. */
  readonly endpoints: readonly Endpoint[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page, or null when there is none. */
  readonly next_page_uri: string | null;
}

/** A public address that is answered. */
export class EndpointsClient extends ResourceClient {
  /** List endpoints: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<Endpoint, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/endpoints', query }, 'endpoints', options);
  }

  /** List endpoints: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<EndpointPage>> {
    return this.call({ method: 'GET', path: '/endpoints', query }, options);
  }

  /** Get an endpoint. One that has ended or was removed is 404. */
  get(id: string, options?: RequestOptions): Promise<Answer<Endpoint>> {
    return this.call({ method: 'GET', path: '/endpoints/{id}', params: { id } }, options);
  }
}
