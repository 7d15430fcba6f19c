// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { Ref } from '../ref.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface ConsoleSession {
  /** Id, starting with "cs_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /**
   * key: logged in with an API key. person: with OpenID Connect. local: with a link that a command on the machine
   * of a node made without a key.
   */
  readonly kind: 'key' | 'person' | 'local';
  /** Description or id of the API key; email address or subject of the person; local:NODE. */
  readonly name: string;
  /** The API key; null for others. */
  readonly api_key: Ref | null;
  /** Role of the person; null for others. */
  readonly role: string | null;
  /** Issuer at which the person logged in; null for others. */
  readonly issuer: string | null;
  /** Subject of the person at the issuer, at the identity host the id of the account; null for others. */
  readonly subject: string | null;
  /** Client address at the login. */
  readonly address: string;
  /** User-Agent header at the login. */
  readonly user_agent: string;
  /** When the session began. */
  readonly created_at: string;
  /** When the session was last used, within five minutes. */
  readonly last_used_at: string;
  /** When the session ends if it is not used again. */
  readonly expires_at: string;
}

export interface ConsoleSessionPage {
  /** The page, newest first. */
  readonly console_sessions: readonly ConsoleSession[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A login to the console, with an API key, with OpenID Connect or from the machine of a node. */
export class ConsoleSessionsClient extends ResourceClient {
  /** List console sessions: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<ConsoleSession, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/console/sessions', query }, 'console_sessions', options);
  }

  /** List console sessions: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<ConsoleSessionPage>> {
    return this.call({ method: 'GET', path: '/console/sessions', query }, options);
  }

  /** Get a console session. Returns 404 if it has ended or was deleted. */
  get(id: string, options?: RequestOptions): Promise<Answer<ConsoleSession>> {
    return this.call({ method: 'GET', path: '/console/sessions/{id}', params: { id } }, options);
  }

  /** End a console session immediately. The next request with its cookie and token gets 401. */
  delete(id: string, options?: RequestOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/console/sessions/{id}', params: { id } }, options);
  }
}
