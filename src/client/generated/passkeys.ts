// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { Ref } from '../ref.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface Passkey {
  /** Id, starting with "pk_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was registered. */
  readonly created_at: string;
  /** A reference to another resource. */
  readonly user_account: Ref;
  /** Name that the person gave it. */
  readonly name: string;
  /** Identity host that it was registered for. It works at no other. */
  readonly host: string;
  /** Whether the authenticator copies it to other devices of the person, as password managers do. */
  readonly backed_up: boolean;
  /** When the person last logged in with it; null if never. */
  readonly last_used_at: string | null;
}

export interface PasskeyPage {
  /** The page, newest first. */
  readonly passkeys: readonly Passkey[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/** A passkey with which a person logs in. Only the person can add one, at the identity host. */
export class PasskeysClient extends ResourceClient {
  /** List the passkeys of a person: every one, page after page. */
  list(userAccountId: string, query?: PageQuery, options?: RequestOptions): AsyncGenerator<Passkey, void, undefined> {
    return this.eachItem(
      {
        method: 'GET',
        path: '/user_accounts/{user_account_id}/passkeys',
        params: { user_account_id: userAccountId },
        query,
      },
      'passkeys',
      options,
    );
  }

  /** List the passkeys of a person: one page. */
  page(userAccountId: string, query?: PageQuery, options?: RequestOptions): Promise<Answer<PasskeyPage>> {
    return this.call(
      {
        method: 'GET',
        path: '/user_accounts/{user_account_id}/passkeys',
        params: { user_account_id: userAccountId },
        query,
      },
      options,
    );
  }

  /** Get a passkey. Returns 404 if it was deleted. */
  get(
    params: { readonly user_account_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<Passkey>> {
    return this.call({ method: 'GET', path: '/user_accounts/{user_account_id}/passkeys/{id}', params }, options);
  }

  /**
   * Delete a passkey. It no longer works, and does not come back. Logins that were made with it stay: POST
   * …/sign_out ends them. A person without a passkey needs a new invitation.
   */
  delete(
    params: { readonly user_account_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/user_accounts/{user_account_id}/passkeys/{id}', params },
      options,
    );
  }
}
