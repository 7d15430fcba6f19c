// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
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
  /** URL at which the person logged in. */
  readonly public_url: string;
  /** The browser at the time of the login. */
  readonly browser_session: {
    /** The program with which the person logged in. */
    readonly user_agent: {
      /** The User-Agent header. */
      readonly raw: string;
    };
    /** Client address of the person. */
    readonly ip_address: string;
  };
  /** The person. */
  readonly application_user: Ref;
  /** When the person logged in. */
  readonly created_at: string;
  /** When the session was last used. */
  readonly last_active: string;
  /** When the session expires; null if it has no limit. */
  readonly expires_at: string | null;
  /** Seconds after which the person must log in again even if active. 0: no limit. */
  readonly maximum_duration: number;
  /** Seconds of inactivity after which the person must log in again. 0: no limit. */
  readonly inactivity_timeout: number;
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
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A person's login session on a route with a login module. */
export class AppSessionsClient extends ResourceClient {
  /** List login sessions: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<AppSession, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/app/sessions', query }, 'application_sessions', options);
  }

  /** List login sessions: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<AppSessionPage>> {
    return this.call({ method: 'GET', path: '/app/sessions', query }, options);
  }

  /** Get a login session. Returns 404 if it has ended or was deleted. */
  get(id: string, options?: RequestOptions): Promise<Answer<AppSession>> {
    return this.call({ method: 'GET', path: '/app/sessions/{id}', params: { id } }, options);
  }

  /** End a login session immediately. The next request with its cookie requires a new login. */
  delete(id: string, options?: RequestOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/app/sessions/{id}', params: { id } }, options);
  }
}
