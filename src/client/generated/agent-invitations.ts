// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface AgentInvitation {
  /** Id, starting with "ai_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. */
  readonly created_at: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
  /** Permissions of the credential that the agent gets, as in /credentials. It cannot be changed later. */
  readonly acl: readonly string[];
  /**
   * host:port that the agent dials. Default: tunnel_address; otherwise the port of tunnel_listen with the first of
   * tunnel_names, or with its own host. It cannot be changed later.
   */
  readonly gateway: string;
  /** When the invitation ends: ten minutes after its creation. */
  readonly expires_at: string;
  /**
   * SHA-256 of the CA certificate that signs the gateway's certificate, in hex. Null: the gateway has a
   * certificate from files or from an ACME server, and the agent trusts the authorities of its system.
   */
  readonly ca_sha256: string | null;
  /** Always null: only the response to the create shows it. */
  readonly invitation: string | null;
}

export interface AgentInvitationCreated extends AgentInvitation {
  /** The line for "postern agent join". Only this response shows it. */
  readonly invitation: string;
}

export interface AgentInvitationCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** Permissions of the credential that the agent gets, as in /credentials. It cannot be changed later. */
  readonly acl?: readonly string[] | undefined;
  /**
   * host:port that the agent dials. Default: tunnel_address; otherwise the port of tunnel_listen with the first of
   * tunnel_names, or with its own host. It cannot be changed later.
   */
  readonly gateway?: string | undefined;
}

export interface AgentInvitationPage {
  /** The page, newest first. */
  readonly agent_invitations: readonly AgentInvitation[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface AgentInvitationUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
}

/**
 * A line that an agent on another machine exchanges for a credential of its own, once and within ten minutes
 * ("postern agent join"). It contains the address of the gateway, the hash of its CA, and a secret that is
 * stored as a hash; only the response to the create shows it. The exchange deletes the invitation and creates
 * the credential in one change. Deleting the invitation revokes it.
 */
export class AgentInvitationsClient extends ResourceClient {
  /**
   * Create an agent invitation. A line that an agent on another machine exchanges for a credential of its own,
   * once and within ten minutes ("postern agent join"). It contains the address of the gateway, the hash of its
   * CA, and a secret that is stored as a hash; only the response to the create shows it. The exchange deletes the
   * invitation and creates the credential in one change. Deleting the invitation revokes it.
   */
  create(body: AgentInvitationCreate = {}, options?: CreateOptions): Promise<Answer<AgentInvitationCreated>> {
    return this.call({ method: 'POST', path: '/agent_invitations', body }, options);
  }

  /** List agent invitations: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<AgentInvitation, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/agent_invitations', query }, 'agent_invitations', options);
  }

  /** List agent invitations: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<AgentInvitationPage>> {
    return this.call({ method: 'GET', path: '/agent_invitations', query }, options);
  }

  /**
   * Get an agent invitation. A line that an agent on another machine exchanges for a credential of its own, once
   * and within ten minutes ("postern agent join"). It contains the address of the gateway, the hash of its CA, and
   * a secret that is stored as a hash; only the response to the create shows it. The exchange deletes the
   * invitation and creates the credential in one change. Deleting the invitation revokes it.
   */
  get(id: string, options?: RequestOptions): Promise<Answer<AgentInvitation>> {
    return this.call({ method: 'GET', path: '/agent_invitations/{id}', params: { id } }, options);
  }

  /**
   * Update an agent invitation. Changes only the fields in the request; null counts as absent. A module in the
   * request is replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: AgentInvitationUpdate, options?: WriteOptions): Promise<Answer<AgentInvitation>> {
    return this.call({ method: 'PATCH', path: '/agent_invitations/{id}', params: { id }, body }, options);
  }

  /** Delete an agent invitation. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/agent_invitations/{id}', params: { id } }, options);
  }
}
