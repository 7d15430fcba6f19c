// Made from the schemas of src/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { ConditionalOptions, CreateOptions, RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface Credential {
  /** Id, starting with "cr_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. RFC 3339, UTC. */
  readonly created_at: string;
  /** What this is for, in your own words; at most 255 characters. */
  readonly description: string;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata: string;
  /**
   * What agents with this token may open and configure. "bind:app.example.com", "bind:*.example.com",
   * "bind:env=prod" allow names and labels; without a "bind:" rule, all. "configure:oidc", "configure:*" allow
   * modules on addresses of agents; without a "configure:" rule, all.
   */
  readonly acl: readonly string[];
  /** Always null: there are no users that could own it. */
  readonly owner_id: null;
  /** Null: only the answer to the create shows it. */
  readonly token: string | null;
}

export interface CredentialCreated extends Credential {
  /** The authtoken itself, for the agent. Shown only here. */
  readonly token: string;
}

export interface CredentialCreate {
  /** What this is for, in your own words; at most 255 characters. */
  readonly description?: string | undefined;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata?: string | undefined;
  /**
   * What agents with this token may open and configure. "bind:app.example.com", "bind:*.example.com",
   * "bind:env=prod" allow names and labels; without a "bind:" rule, all. "configure:oidc", "configure:*" allow
   * modules on addresses of agents; without a "configure:" rule, all.
   */
  readonly acl?: readonly string[] | undefined;
}

export interface CredentialPage {
  /** The page, newest first. */
  readonly credentials: readonly Credential[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page, or null when there is none. */
  readonly next_page_uri: string | null;
}

export interface CredentialUpdate {
  /** What this is for, in your own words; at most 255 characters. */
  readonly description?: string | undefined;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata?: string | undefined;
  /**
   * What agents with this token may open and configure. "bind:app.example.com", "bind:*.example.com",
   * "bind:env=prod" allow names and labels; without a "bind:" rule, all. "configure:oidc", "configure:*" allow
   * modules on addresses of agents; without a "configure:" rule, all.
   */
  readonly acl?: readonly string[] | undefined;
}

/**
 * An authtoken for agents. Its token is shown once, when it is made, and stored as a hash only. Deleting it ends
 * the sessions opened with it.
 */
export class CredentialsClient extends ResourceClient {
  /**
   * Create a tunnel credential. An authtoken for agents. Its token is shown once, when it is made, and stored as a
   * hash only. Deleting it ends the sessions opened with it.
   */
  create(body: CredentialCreate = {}, options?: CreateOptions): Promise<Answer<CredentialCreated>> {
    return this.call({ method: 'POST', path: '/credentials', body }, options);
  }

  /** List tunnel credentials: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<Credential, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/credentials', query }, 'credentials', options);
  }

  /** List tunnel credentials: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<CredentialPage>> {
    return this.call({ method: 'GET', path: '/credentials', query }, options);
  }

  /**
   * Get a tunnel credential. An authtoken for agents. Its token is shown once, when it is made, and stored as a
   * hash only. Deleting it ends the sessions opened with it.
   */
  get(id: string, options?: RequestOptions): Promise<Answer<Credential>> {
    return this.call({ method: 'GET', path: '/credentials/{id}', params: { id } }, options);
  }

  /**
   * Change fields of a tunnel credential. Only the fields that are named change. A module that is named is
   * replaced whole.
   */
  update(id: string, body: CredentialUpdate, options?: ConditionalOptions): Promise<Answer<Credential>> {
    return this.call({ method: 'PATCH', path: '/credentials/{id}', params: { id }, body }, options);
  }

  /**
   * Delete a tunnel credential. A resource that others refer to is not deleted: 409, and details.referred_by names
   * them.
   */
  delete(id: string, options?: ConditionalOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/credentials/{id}', params: { id } }, options);
  }
}
