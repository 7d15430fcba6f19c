// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface UserAccount {
  /** Id, starting with "ua_". */
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
   * E-mail address of the person. Two accounts cannot have the same one; capitals make no difference. A change
   * ends the invitation, which went to the earlier address: invite the person again. Applications get it as
   * verified, because only administrators change it.
   */
  readonly email: string;
  /** Full name of the person. Default: "". */
  readonly name: string;
  /**
   * Groups of the person, which access rules and the setting console_roles name. A change reaches logins that
   * exist within a second.
   */
  readonly groups: readonly string[];
  /**
   * Whether the person can log in. False ends all their logins within a second, and their invitation. Default:
   * true.
   */
  readonly active: boolean;
  /** When the person last logged in at the identity host; null if never. */
  readonly last_login_at: string | null;
  /** Number of passkeys of the person. */
  readonly passkey_count: number;
  /** Always null: only the response to the create shows it. */
  readonly invitation_url: string | null;
  /** Always null: only the response to the create shows it. */
  readonly invitation_sent_to: string | null;
}

export interface UserAccountCreated extends UserAccount {
  /** The link for the person. Only this response shows it. */
  readonly invitation_url: string;
  /** Address that gets the link by mail; null if no mail is sent. Only this response shows it. */
  readonly invitation_sent_to: string | null;
}

export interface UserAccountCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * E-mail address of the person. Two accounts cannot have the same one; capitals make no difference. A change
   * ends the invitation, which went to the earlier address: invite the person again. Applications get it as
   * verified, because only administrators change it.
   */
  readonly email: string;
  /** Full name of the person. Default: "". */
  readonly name?: string | undefined;
  /**
   * Groups of the person, which access rules and the setting console_roles name. A change reaches logins that
   * exist within a second.
   */
  readonly groups?: readonly string[] | undefined;
  /**
   * Whether the person can log in. False ends all their logins within a second, and their invitation. Default:
   * true.
   */
  readonly active?: boolean | undefined;
}

export interface UserAccountPage {
  /** The page, newest first. */
  readonly user_accounts: readonly UserAccount[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface UserAccountUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * E-mail address of the person. Two accounts cannot have the same one; capitals make no difference. A change
   * ends the invitation, which went to the earlier address: invite the person again. Applications get it as
   * verified, because only administrators change it.
   */
  readonly email?: string | undefined;
  /** Full name of the person. Default: "". */
  readonly name?: string | undefined;
  /**
   * Groups of the person, which access rules and the setting console_roles name. A change reaches logins that
   * exist within a second.
   */
  readonly groups?: readonly string[] | undefined;
  /**
   * Whether the person can log in. False ends all their logins within a second, and their invitation. Default:
   * true.
   */
  readonly active?: boolean | undefined;
}

export interface UserAccountInviteAnswer {
  /** The link for the person. Only this response shows it. */
  readonly invitation_url: string;
  /** When the link ends. */
  readonly expires_at: string;
  /** Address that gets the link by mail; null if no mail is sent. */
  readonly invitation_sent_to: string | null;
}

export interface UserAccountInvite {
  /** Whether the passkeys and logins of the person end now. Default: false. */
  readonly remove_passkeys?: boolean | undefined;
}

/**
 * A person who logs in at the identity host with a passkey. The response to the create has a link with which the
 * person registers the first one; if mail is set up, the person also gets it by mail. Deleting the account ends
 * all logins of the person within a second, and cannot be undone. A key or person cannot manage people whose
 * role in the console has scopes that it lacks, or would have them again if a pending change is reverted. A
 * change that gives the person more in the console ends their logins, and the invitation if its maker could not
 * give that.
 */
export class UserAccountsClient extends ResourceClient {
  /**
   * Create a user account. A person who logs in at the identity host with a passkey. The response to the create
   * has a link with which the person registers the first one; if mail is set up, the person also gets it by mail.
   * Deleting the account ends all logins of the person within a second, and cannot be undone. A key or person
   * cannot manage people whose role in the console has scopes that it lacks, or would have them again if a pending
   * change is reverted. A change that gives the person more in the console ends their logins, and the invitation
   * if its maker could not give that.
   */
  create(body: UserAccountCreate, options?: CreateOptions): Promise<Answer<UserAccountCreated>> {
    return this.call({ method: 'POST', path: '/user_accounts', body }, options);
  }

  /** List user accounts: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<UserAccount, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/user_accounts', query }, 'user_accounts', options);
  }

  /** List user accounts: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<UserAccountPage>> {
    return this.call({ method: 'GET', path: '/user_accounts', query }, options);
  }

  /**
   * Get a user account. A person who logs in at the identity host with a passkey. The response to the create has a
   * link with which the person registers the first one; if mail is set up, the person also gets it by mail.
   * Deleting the account ends all logins of the person within a second, and cannot be undone. A key or person
   * cannot manage people whose role in the console has scopes that it lacks, or would have them again if a pending
   * change is reverted. A change that gives the person more in the console ends their logins, and the invitation
   * if its maker could not give that.
   */
  get(id: string, options?: RequestOptions): Promise<Answer<UserAccount>> {
    return this.call({ method: 'GET', path: '/user_accounts/{id}', params: { id } }, options);
  }

  /**
   * Update a user account. Changes only the fields in the request; null counts as absent. A module in the request
   * is replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: UserAccountUpdate, options?: WriteOptions): Promise<Answer<UserAccount>> {
    return this.call({ method: 'PATCH', path: '/user_accounts/{id}', params: { id }, body }, options);
  }

  /** Delete a user account. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/user_accounts/{id}', params: { id } }, options);
  }

  /**
   * Make a new invitation link for a person. An earlier link of the person no longer works. With remove_passkeys,
   * all passkeys of the person end immediately, and so do their logins: for a person who lost a device.
   */
  invite(id: string, body: UserAccountInvite = {}, options?: RequestOptions): Promise<Answer<UserAccountInviteAnswer>> {
    return this.call({ method: 'POST', path: '/user_accounts/{id}/invite', params: { id }, body }, options);
  }

  /**
   * End all logins of a person. Ends, on every node within a second: logins on routes, console sessions, sessions
   * at the identity host, logins at other applications, and the invitation link. The passkeys stay. The request
   * body is ignored.
   */
  signOut(id: string, options?: RequestOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'POST', path: '/user_accounts/{id}/sign_out', params: { id } }, options);
  }
}
