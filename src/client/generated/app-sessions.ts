// Made from the schemas of src/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { Ref } from '../ref.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface AppSession {
  /** Id, starting with "as_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** Where the user logged in. */
  readonly public_url: string;
  /** The browser, as it was at login. */
  readonly browser_session: {
    /** The program that the user logged in with. */
    readonly user_agent: {
      /** The User-Agent header. */
      readonly raw: string;
    };
    /** Address that the user came from. */
    readonly ip_address: string;
  };
  /** The user. */
  readonly application_user: Ref;
  /** When the user logged in. RFC 3339, UTC. */
  readonly created_at: string;
  /** When the session was last used. RFC 3339, UTC. */
  readonly last_active: string;
  /** When it ends; null when nothing limits it. */
  readonly expires_at: string | null;
  /** The edge. */
  readonly edge: Ref | null;
  /** The route. */
  readonly route: Ref | null;
}

export interface AppSessionPage {
  /** The page, newest first. */
  readonly application_sessions: readonly AppSession[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page, or null when there is none. */
  readonly next_page_uri: string | null;
}

/** A user's login on a route with a login module. */
export class AppSessionsClient extends ResourceClient {
  /** List login sessions: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<AppSession, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/app/sessions', query }, 'application_sessions', options);
  }

  /** List login sessions: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<AppSessionPage>> {
    return this.call({ method: 'GET', path: '/app/sessions', query }, options);
  }

  /** Get a login session. One that has ended or was removed is 404. */
  get(id: string, options?: RequestOptions): Promise<Answer<AppSession>> {
    return this.call({ method: 'GET', path: '/app/sessions/{id}', params: { id } }, options);
  }

  /** End a login session at once. The next request with its cookie must log in again. */
  delete(id: string, options?: RequestOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/app/sessions/{id}', params: { id } }, options);
  }
}
