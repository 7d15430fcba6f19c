// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface Node {
  /** Unique node identifier. Every start of a server has a new one. */
  readonly id: string;
  /** URI of the node. */
  readonly uri: string;
  /** Name from the setting node_name, or the host name. It stays after a restart. */
  readonly name: string;
  /** Version of the program. */
  readonly version: string;
  /** Roles that the node runs. */
  readonly roles: readonly string[];
  /** Region of the node. */
  readonly region: string;
  /** ready: it serves. draining: it is being stopped. lost: its lease has ended; it is listed for ten minutes. */
  readonly status: 'ready' | 'draining' | 'lost';
  /** When the node started. */
  readonly started_at: string;
  /** When the node last renewed its lease. */
  readonly last_seen_at: string;
  /** Address at which other nodes dial it. null: it has no peer listener. */
  readonly peer_address: string | null;
  /** Agent sessions on the node. */
  readonly agents: number;
  /** Online tunnels of these sessions. */
  readonly tunnels: number;
  /** What the node cannot do, such as a port that it cannot open or a node that it cannot reach. */
  readonly problems: readonly string[];
}

export interface NodePage {
  /** The page, newest first. */
  readonly nodes: readonly Node[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A node: a running server of this installation. Several nodes share a PostgreSQL database. */
export class NodesClient extends ResourceClient {
  /** List nodes: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<Node, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/nodes', query }, 'nodes', options);
  }

  /** List nodes: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<NodePage>> {
    return this.call({ method: 'GET', path: '/nodes', query }, options);
  }

  /** Get a node. Returns 404 if it has ended or was deleted. */
  get(id: string, options?: RequestOptions): Promise<Answer<Node>> {
    return this.call({ method: 'GET', path: '/nodes/{id}', params: { id } }, options);
  }
}
