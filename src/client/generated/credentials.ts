// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface Credential {
  /** Id, starting with "cr_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. */
  readonly created_at: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
  /**
   * Permissions of agents with this token. "bind:app.example.com", "bind:*.example.com" and "bind:env=prod" allow
   * host names and labels; without a "bind:" rule, all are allowed. "configure:oidc" and "configure:*" allow
   * modules on the endpoints of agents; without a "configure:" rule, all are allowed.
   */
  readonly acl: readonly string[];
  /** Always null: resources have no owner. */
  readonly owner_id: null;
  /** Always null: only the response to the create shows it. */
  readonly token: string | null;
}

export interface CredentialCreated extends Credential {
  /** The agent token. Only this response shows it. */
  readonly token: string;
}

export interface CredentialCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * Permissions of agents with this token. "bind:app.example.com", "bind:*.example.com" and "bind:env=prod" allow
   * host names and labels; without a "bind:" rule, all are allowed. "configure:oidc" and "configure:*" allow
   * modules on the endpoints of agents; without a "configure:" rule, all are allowed.
   */
  readonly acl?: readonly string[] | undefined;
}

export interface CredentialPage {
  /** The page, newest first. */
  readonly credentials: readonly Credential[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface CredentialUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * Permissions of agents with this token. "bind:app.example.com", "bind:*.example.com" and "bind:env=prod" allow
   * host names and labels; without a "bind:" rule, all are allowed. "configure:oidc" and "configure:*" allow
   * modules on the endpoints of agents; without a "configure:" rule, all are allowed.
   */
  readonly acl?: readonly string[] | undefined;
}

/**
 * An agent token, with the rules for what its agents may open. The token is shown only once, in the response to
 * the create, and stored as a hash. Deleting the credential ends its tunnel sessions.
 */
export class CredentialsClient extends ResourceClient {
  /**
   * Create a tunnel credential. An agent token, with the rules for what its agents may open. The token is shown
   * only once, in the response to the create, and stored as a hash. Deleting the credential ends its tunnel
   * sessions.
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
   * Get a tunnel credential. An agent token, with the rules for what its agents may open. The token is shown only
   * once, in the response to the create, and stored as a hash. Deleting the credential ends its tunnel sessions.
   */
  get(id: string, options?: RequestOptions): Promise<Answer<Credential>> {
    return this.call({ method: 'GET', path: '/credentials/{id}', params: { id } }, options);
  }

  /**
   * Update a tunnel credential. Changes only the fields in the request; null counts as absent. A module in the
   * request is replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: CredentialUpdate, options?: WriteOptions): Promise<Answer<Credential>> {
    return this.call({ method: 'PATCH', path: '/credentials/{id}', params: { id }, body }, options);
  }

  /** Delete a tunnel credential. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/credentials/{id}', params: { id } }, options);
  }
}
