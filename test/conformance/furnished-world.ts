import assert from 'node:assert/strict';
import { createCatalog } from '../../src/control/documents/catalog.ts';
import type { Documents } from '../../src/control/documents/documents.ts';
import { operationsOf } from '../../src/control/documents/operations.ts';
import { alertPut } from '../../src/control/findings/alert-watch.ts';
import { backendResources } from '../../src/control/resources/backend-resources.ts';
import type { Operation } from '../../src/control/resources/operation.ts';
import { resources } from '../../src/control/resources/registry.ts';
import type { JsonValue } from '../../src/kit/json.ts';
import { modules } from '../../src/modules/registry.ts';
import { consoleSessionPut } from '../support/console-session-put.ts';
import { feedLogin } from '../support/feed-logins.ts';
import { managedPut } from '../support/managed-put.ts';
import { testPasskeyPut } from '../support/passkey-put.ts';
import { recorded } from '../support/recorded-request.ts';
import type { TestWorld } from '../support/test-world.ts';
import { type KeyAndCertificate, makeCertificate } from './certificates.ts';
import { newId } from './interface-parents.ts';

export const catalog = createCatalog(resources, modules);
/** Every operation that the API serves. Nothing here runs one, so it needs no documents. */
export const operations: readonly Operation[] = operationsOf(catalog, {} as Documents);
export const writeOperations: readonly Operation[] = operations.filter(({ method }) => method !== 'GET');
/** Operations with a meaningful body. */
export const bodyOperations = writeOperations.filter(
  (operation): operation is Operation & { body: NonNullable<Operation['body']> } =>
    operation.body !== undefined && operation.body.parsing !== 'ignored',
);

export function nameOf({ resource, verb }: Operation): string {
  return `${resource}.${verb}`;
}

/** Settings of the world to be furnished: people need an identity host. */
export const FURNISHED_ENV = { POSTERN_IDENTITY_HOST: 'id.example.com' };

const YEAR_MS = 365 * 86_400_000;
const NEXT_WEEK = new Date(Date.now() + 7 * 86_400_000).toISOString();

/** A world with one of everything, and with a subscription to every event: each write becomes visible. */
export class FurnishedWorld {
  readonly world: TestWorld;
  readonly authority: KeyAndCertificate;
  readonly server: KeyAndCertificate;
  /** Ids by prefix; those that examples may use come first. */
  readonly #ids = new Map<string, string[]>();
  /** Names a change that nothing depends on. */
  #revision = '';
  #pending = '1';

  private constructor(world: TestWorld, authority: KeyAndCertificate, server: KeyAndCertificate) {
    this.world = world;
    this.authority = authority;
    this.server = server;
  }

  static async furnish(world: TestWorld): Promise<FurnishedWorld> {
    const furnished = new FurnishedWorld(
      world,
      await makeCertificate({ commonName: 'authority', isCa: true }),
      await makeCertificate({ commonName: 'furnished.localhost', dnsNames: ['furnished.localhost'] }),
    );
    await furnished.#createConfiguration();
    await furnished.#feedLiveState();
    return furnished;
  }

  id(prefix: string, index = 0): string {
    return this.#ids.get(prefix)?.[index] ?? assert.fail(`nothing with the prefix ${prefix} is furnished`);
  }

  async create(path: string, body: unknown): Promise<string> {
    const answer = await this.world.api('POST', path, body);
    assert.equal(answer.status, 201, `${path}: ${answer.text}`);
    this.#add(answer.body.id);
    return answer.body.id;
  }

  /**
   * Makes what an operation needs: a change that waits can be confirmed or reverted once, a disabled person not
   * invited.
   */
  async prepare(operation: Operation): Promise<void> {
    if (nameOf(operation) === 'user_accounts.invite')
      await this.world.api('PATCH', `/user_accounts/${this.id('ua')}`, { active: true });
    if (!['changes.confirm', 'changes.revert'].includes(nameOf(operation))) return;
    const operations = [{ method: 'POST', path: '/ip_policies' }];
    const answer = await this.world.api('POST', '/changesets', { operations, confirm_within: '24h' });
    if (answer.status === 200) this.#pending = String(answer.body.revision);
  }

  /** The operation's path with furnished ids. */
  path({ path }: Operation, params: Readonly<Record<string, string>> = {}): string {
    const all = { ...this.params(path), ...params };
    return path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(all[name] ?? assert.fail(name)));
  }

  params(path: string): Record<string, string> {
    const params: Record<string, string> = {};
    if (path.includes('{edge_id}')) params['edge_id'] = this.id('edghts');
    if (path.includes('{subscription_id}')) params['subscription_id'] = this.id('esb');
    if (path.includes('{user_account_id}')) params['user_account_id'] = this.id('ua');
    if (path.includes('{type}')) params['type'] = 'ip_policy_created.v0';
    if (path.includes('{revision}'))
      params['revision'] = /\/(confirm|revert)$/.test(path) ? this.#pending : this.#revision;
    // A route has one login: the second module is on a route of its own.
    if (path.includes('{id}')) params['id'] = this.id(prefixAt(path), routeOfLogin(path));
    return params;
  }

  /** The documented example with real ids and certificates: an accepted body. */
  example(operation: Operation): Record<string, JsonValue> {
    const example = this.#real(operation.body?.example ?? {});
    // The furnished subscription already has every type but this one.
    return nameOf(operation) === 'event_sources.create' ? { type: 'tcp_connection_closed.v0' } : example;
  }

  #real(example: JsonValue): Record<string, JsonValue> {
    const named = new Map<string, string>();
    const real = (value: JsonValue, field: string): JsonValue => {
      if (typeof value === 'string') return this.#realText(value, field, named);
      if (Array.isArray(value)) return value.map((item: JsonValue) => real(item, field));
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(
        Object.entries(value).map(([name, inner]) => [this.#realText(name, '', named), real(inner as JsonValue, name)]),
      );
    };
    return real(example, '') as Record<string, JsonValue>;
  }

  #realText(text: string, field: string, named: Map<string, string>): string {
    const prefix = /^([a-z]+)_2zXAMPLE/.exec(text)?.[1];
    if (prefix !== undefined) {
      const index = [...named.keys()].filter((name) => name.startsWith(`${prefix}_`)).length;
      if (!named.has(text)) named.set(text, this.id(prefix, index));
      return named.get(text) as string;
    }
    // A documented time is in the past one day.
    if (field === 'expires_at') return NEXT_WEEK;
    if (!text.startsWith('-----BEGIN')) return text;
    if (field === 'ca_pem') return this.authority.certificatePem;
    return field === 'private_key_pem' ? this.server.keyPem : this.server.certificatePem;
  }

  async #createConfiguration(): Promise<void> {
    const types = catalog.eventTypes.map(({ type }) => ({ type }));
    await this.create('/event_subscriptions', {
      sources: types.filter(({ type }) => type !== 'tcp_connection_closed.v0'),
    });
    const edge = await this.create('/edges/https', { hostports: ['furnished.localhost:443'] });
    const route = await this.create(`/edges/https/${edge}/routes`, { match_type: 'exact_path', match: '/furnished' });
    await this.create(`/edges/https/${edge}/routes`, { match_type: 'exact_path', match: '/oauth' });
    await this.create(`/edges/https/${edge}/routes`, { match_type: 'exact_path', match: '/basic_auth' });
    await this.create('/guest_links', { edge_id: edge, route_id: route, expires_at: NEXT_WEEK });
    const fixed = await this.create('/backends/static', { address: '10.0.0.5:3000' });
    await this.create('/backends/static', { address: '10.0.0.6:3000' });
    await this.create('/backends/tunnel_group', { labels: { app: 'furnished' } });
    await this.create('/backends/http_response', { body: 'furnished' });
    await this.create('/backends/weighted', { backends: { [fixed]: 1 } });
    await this.create('/backends/failover', { backends: [fixed] });
    for (const { path, idPrefix, example } of backendResources) {
      if (!this.#ids.has(idPrefix)) await this.create(path, this.#real(example));
    }
    await this.create('/certificate_authorities', { ca_pem: this.authority.certificatePem });
    await this.create('/tls_certificates', {
      certificate_pem: this.server.certificatePem,
      private_key_pem: this.server.keyPem,
    });
    await this.create('/reserved_domains', { domain: 'furnished.localhost' });
    const policy = await this.create('/ip_policies', { description: 'furnished' });
    await this.create('/ip_policy_rules', { cidr: '192.0.2.0/24', ip_policy_id: policy });
    await this.create('/ip_policy_lists', { countries: ['DE'], ip_policy_id: policy, enforce: false });
    const { headers } = await this.world.api('POST', '/ip_policies', { description: 'to undo' });
    this.#revision = headers.get('postern-revision') ?? assert.fail('a write without its revision');
    await this.create('/credentials', { description: 'furnished' });
    await this.create('/agent_invitations', { gateway: 'gateway.example.com:7444' });
    await this.create('/api_keys', { description: 'furnished' });
    const account = await this.create('/service_accounts', { name: 'furnished' });
    await this.create('/service_account_tokens', { service_account_id: account });
    await this.create('/user_accounts', { email: 'furnished@example.com' });
    await this.create('/oidc_clients', { name: 'furnished' });
    await this.create('/event_destinations', { target: { webhook: { url: 'https://hooks.example.com/furnished' } } });
  }

  async #feedLiveState(): Promise<void> {
    const { store } = this.world;
    const nowMs = Date.now();
    const add = (prefix: string): string => this.#add(newId(prefix));
    const [session, tunnel, endpoint, user, login, delivery] = [
      add('ts'),
      add('tn'),
      add('ep'),
      add('au'),
      add('as'),
      add('evd'),
    ];
    const alert = {
      kind: 'node_lost',
      subject: 'n',
      title: 'the node n is lost',
      node: 'm',
      raised_at: '2026-11-01T00:00:00Z',
    };
    await store.commit({ puts: [alertPut(add('al'), alert)] });
    this.#add((await this.world.api('GET', '/nodes')).body.nodes[0].id);
    for (let count = 0; count < 3; count += 1) {
      const request = recorded();
      this.world.server.history.record(request);
      this.#add(request.id);
    }
    const held = { credentialId: null, bootId: 'boot', expiresAtMs: nowMs + YEAR_MS, doc: {} };
    await store.presence.put([
      { ...held, kind: 'tunnel_session', id: session, parent: null },
      { ...held, kind: 'tunnel', id: tunnel, parent: session },
      { ...held, kind: 'endpoint', id: endpoint, parent: tunnel },
    ]);
    await feedLogin(store, login, { userId: user, lastActiveMs: nowMs, doc: {} });
    assert.ok((await store.commit({ puts: [managedPut(add('mc'), 'managed.example.com')] })).ok);
    assert.ok((await store.commit({ puts: [consoleSessionPut(add('cs'), nowMs)] })).ok);
    assert.ok((await store.commit({ puts: [testPasskeyPut(add('pk'), this.id('ua'))] })).ok);
    await store.deliveries.put([
      {
        id: delivery,
        subscriptionId: this.id('esb'),
        destinationId: this.id('ed'),
        event: { id: newId('ev'), type: 'ip_policy_created.v0', createdAtMs: nowMs, payload: {} },
        state: 'dead',
        attempts: [],
        createdAtMs: nowMs,
        nextAttemptAtMs: null,
      },
    ]);
  }

  #add(id: string): string {
    const prefix = id.split('_')[0] as string;
    this.#ids.set(prefix, [...(this.#ids.get(prefix) ?? []), id]);
    return id;
  }
}

/** The prefix of the ids at `{id}`: that of the resource whose path precedes it. */
export function prefixAt(path: string): string {
  const collection = path.slice(0, path.indexOf('/{id}'));
  const resource = resources.find((each) => each.path === collection);
  return resource?.idPrefix ?? assert.fail(`no resource has the path ${collection}`);
}

/** A route has one login, so each login module has a route of its own. */
function routeOfLogin(path: string): number {
  if (path.endsWith('/basic_auth')) return 2;
  return path.endsWith('/oauth') ? 1 : 0;
}
