// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface AppUser {
  /** Id, starting with "au_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** The identity provider of the person. */
  readonly identity_provider: {
    /** Kind of the provider. */
    readonly name: string;
    /** Its issuer. */
    readonly url: string;
  };
  /** Id of the person at the provider: the subject of its tokens. */
  readonly provider_user_id: string;
  /** User name at the provider, as of the last login. */
  readonly username: string;
  /** Email address from the provider, as of the last login. */
  readonly email: string;
  /** Full name from the provider, as of the last login. */
  readonly name: string;
  /** When the person first logged in. */
  readonly created_at: string;
  /** When the person was last active. */
  readonly last_active: string;
  /** When the person last logged in. */
  readonly last_login: string;
}

export interface AppUserPage {
  /** The page, newest first. */
  readonly application_users: readonly AppUser[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A person who has logged in on a route with a login module. */
export class AppUsersClient extends ResourceClient {
  /** List login users: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<AppUser, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/app/users', query }, 'application_users', options);
  }

  /** List login users: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<AppUserPage>> {
    return this.call({ method: 'GET', path: '/app/users', query }, options);
  }

  /** Get a login user. Returns 404 if it has ended or was deleted. */
  get(id: string, options?: RequestOptions): Promise<Answer<AppUser>> {
    return this.call({ method: 'GET', path: '/app/users/{id}', params: { id } }, options);
  }

  /**
   * Delete a login user and end all their sessions immediately. If the person logs in again, a new record is
   * created.
   */
  delete(id: string, options?: RequestOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/app/users/{id}', params: { id } }, options);
  }
}
