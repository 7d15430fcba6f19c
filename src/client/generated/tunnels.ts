// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { Ref } from '../ref.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface Tunnel {
  /** Unique tunnel resource identifier. */
  readonly id: string;
  /** URL of the public endpoint of an ephemeral tunnel. */
  readonly public_url?: string | undefined;
  /** When the tunnel started. */
  readonly started_at: string;
  /** Metadata of the tunnel from the agent's configuration; under Service-Version 0, of the agent's session. */
  readonly metadata: string;
  /** Protocol of an ephemeral tunnel. */
  readonly proto?: 'http' | 'https' | 'tcp' | 'tls' | undefined;
  /** Region where the tunnel runs. */
  readonly region: string;
  /** The session that started the tunnel. */
  readonly tunnel_session: Ref;
  /** The ephemeral endpoint, for an agent-initiated tunnel. */
  readonly endpoint?: Ref | undefined;
  /** Labels of a backend tunnel. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /**
   * The oldest tunnel group backend that this backend tunnel serves. Requests with Ngrok-Version get a list of all
   * of them.
   */
  readonly backends?: Ref | undefined;
  /** Address to which the agent forwards traffic: a URL or a network address. */
  readonly forwards_to: string;
}

export interface TunnelPage {
  /** The page, newest first. */
  readonly tunnels: readonly Tunnel[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A tunnel that an agent keeps open. Only online tunnels are listed. */
export class TunnelsClient extends ResourceClient {
  /** List online tunnels: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<Tunnel, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/tunnels', query }, 'tunnels', options);
  }

  /** List online tunnels: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<TunnelPage>> {
    return this.call({ method: 'GET', path: '/tunnels', query }, options);
  }

  /** Get a tunnel. Returns 404 if it has ended or was deleted. */
  get(id: string, options?: RequestOptions): Promise<Answer<Tunnel>> {
    return this.call({ method: 'GET', path: '/tunnels/{id}', params: { id } }, options);
  }
}
