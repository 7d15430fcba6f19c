// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { Ref } from '../ref.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface TunnelSession {
  /** Id, starting with "ts_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** Version of the agent. */
  readonly agent_version: string;
  /** The credential of the agent. */
  readonly credential: Ref | null;
  /** Address that the agent connected from. */
  readonly ip: string;
  /** The agent's top-level metadata. */
  readonly metadata: string;
  /** Operating system of the agent. */
  readonly os: string;
  /** Region that the agent connected to. */
  readonly region: string;
  /** When the session started. */
  readonly started_at: string;
  /** Protocol between agent and server. */
  readonly transport: string;
}

export interface TunnelSessionPage {
  /** The page, newest first. */
  readonly tunnel_sessions: readonly TunnelSession[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** The session of a connected agent. */
export class TunnelSessionsClient extends ResourceClient {
  /** List online tunnel sessions: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<TunnelSession, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/tunnel_sessions', query }, 'tunnel_sessions', options);
  }

  /** List online tunnel sessions: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<TunnelSessionPage>> {
    return this.call({ method: 'GET', path: '/tunnel_sessions', query }, options);
  }

  /** Get a tunnel session. Returns 404 if it has ended or was deleted. */
  get(id: string, options?: RequestOptions): Promise<Answer<TunnelSession>> {
    return this.call({ method: 'GET', path: '/tunnel_sessions/{id}', params: { id } }, options);
  }

  /**
   * Stop an agent; it exits and does not reconnect. Returns 409 if the agent was started with remote_management:
   * false. The request body is ignored.
   */
  stop(id: string, options?: RequestOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'POST', path: '/tunnel_sessions/{id}/stop', params: { id } }, options);
  }

  /**
   * Make an agent reconnect. Returns 409 if the agent was started with remote_management: false. The request body
   * is ignored.
   */
  restart(id: string, options?: RequestOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'POST', path: '/tunnel_sessions/{id}/restart', params: { id } }, options);
  }

  /**
   * Notify an agent that it should be updated; it shows the notice and continues to run. Returns 409 if the agent
   * was started with remote_management: false. The request body is ignored.
   */
  update(id: string, options?: RequestOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'POST', path: '/tunnel_sessions/{id}/update', params: { id } }, options);
  }
}
