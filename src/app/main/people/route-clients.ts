import type {
  IdentityClient,
  IdentityClients,
  PublishingAgent,
} from '../../../control/identity/provider/identity-clients.ts';
import { edgeRecord } from '../../../edges/record-kinds.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { hashToken } from '../../../kit/text/secrets.ts';
import { CALLBACK_PATH } from '../../../modules/login/flow/login-flow.ts';
import { LOGGED_OUT_PATH } from '../../../modules/login/flow/logout.ts';
import { moduleOfRoute } from '../../../modules/module-config.ts';
import { oidc } from '../../../modules/oidc/oidc.ts';
import type { DetachedEdge } from '../../../proxy/snapshot/detached-edge.ts';
import type { EdgeSnapshot } from '../../../proxy/snapshot/edge-snapshot.ts';
import type { Snapshots } from '../../../proxy/snapshot/snapshots.ts';
import type { RecordReader } from '../../../store/replica/record-table.ts';

const CREDENTIAL_KIND = 'credential';

export interface RouteClientsOptions {
  readonly issuer: string;
  readonly reader: Pick<RecordReader, 'get'>;
  /** Credential of the agent that publishes an address on any node; null: it is not online. */
  credentialOf(endpointId: string): string | null;
  clientSecretOf(clientId: string): string;
}

/**
 * Clients of routes that log people in at the identity host. Each edge, and each address of an agent, is one by
 * itself, derived from its snapshot and never stored: so it has exactly the hosts that the edge has now.
 */
export class RouteClients implements IdentityClients {
  readonly #options: RouteClientsOptions;
  #snapshots: Pick<Snapshots, 'get' | 'find' | 'detachedOf'> | null = null;

  constructor(options: RouteClientsOptions) {
    this.#options = options;
  }

  follow(snapshots: Pick<Snapshots, 'get' | 'find' | 'detachedOf'>): void {
    this.#snapshots = snapshots;
  }

  /** Id of the client whose address this host is now. */
  at(host: string): string | null {
    return this.#snapshots?.find(host)?.id ?? null;
  }

  find(clientId: string, askedUris: readonly string[]): IdentityClient | null {
    const edge = this.#snapshots?.get(clientId);
    if (edge === undefined || this.#snapshots === null) return null;
    const detached = this.#snapshots.detachedOf(edge);
    const agent = detached === null ? null : this.#agentOf(detached);
    const isClient = detached === null ? this.#hasOwnLogin(edge) : this.#isOwnLogin(detached.modules.get(oidc.name));
    if (!isClient || (detached !== null && agent === null)) return null;
    const asked = (path: string): string[] => askedUris.filter((uri) => this.#isReturn(uri, path, edge));
    const redirectUris = asked(CALLBACK_PATH);
    return {
      name: edge.hosts[0] ?? clientId,
      metadata: {
        client_id: clientId,
        client_secret: hashToken(this.#options.clientSecretOf(clientId)),
        // The library wants one at any time; nobody is sent to this one.
        redirect_uris: redirectUris.length > 0 ? redirectUris : [`${this.#options.issuer}${CALLBACK_PATH}`],
        post_logout_redirect_uris: asked(LOGGED_OUT_PATH),
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
      // Rules of the routes decide who may enter.
      admits: () => true,
      // Logins of these clients end in the transaction that ends the session.
      backChannelLogoutUri: null,
      agent,
    };
  }

  /** As configured: in a thread that serves no traffic, modules are not prepared for it. */
  #hasOwnLogin({ routes }: EdgeSnapshot): boolean {
    return routes.all.some((route) => this.#isOwnLogin(moduleOfRoute(this.#options.reader, route.id, oidc.name)?.doc));
  }

  #isOwnLogin(config: JsonObject | undefined): boolean {
    if (config === undefined || config['enabled'] === false) return false;
    return config['issuer'] === this.#options.issuer && config['client_id'] === '';
  }

  #agentOf({ id, host }: DetachedEdge): PublishingAgent | null {
    const credentialId = this.#options.credentialOf(id);
    const credential = credentialId === null ? undefined : this.#options.reader.get(CREDENTIAL_KIND, credentialId);
    if (credential === undefined) return null;
    const { description } = credential.doc;
    return {
      host: host ?? '',
      credentialId: credential.id,
      description: typeof description === 'string' ? description : '',
    };
  }

  /** Exactly the path of ours on a host of this edge, at a port at which the edge can be. */
  #isReturn(uri: string, path: string, edge: EdgeSnapshot): boolean {
    const url = URL.parse(uri);
    if (url === null || url.protocol !== 'https:' || uri !== `${url.origin}${path}`) return false;
    return this.#snapshots?.find(url.hostname)?.id === edge.id && this.#portsOf(edge).has(url.port);
  }

  /** In the spelling of URLs: 443 is empty. */
  #portsOf({ id }: EdgeSnapshot): ReadonlySet<string> {
    const hostports = edgeRecord(this.#options.reader, id)?.doc['hostports'];
    const listed = Array.isArray(hostports) ? hostports.map((hostport) => String(hostport).replace(/^.*:/, '')) : [];
    return new Set(['', new URL(this.#options.issuer).port, ...listed.map((port) => (port === '443' ? '' : port))]);
  }
}
