import assert from 'node:assert/strict';
import { alertPut } from '../../src/control/findings/alert-watch.ts';
import { resources } from '../../src/control/resources/registry.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/kit/json.ts';
import { makeCertificate } from '../conformance/certificates.ts';
import { newId } from '../conformance/interface-parents.ts';
import { consoleSessionPut } from '../support/console-session-put.ts';
import { feedLogin } from '../support/feed-logins.ts';
import { FAILED_JOB, managedPut } from '../support/managed-put.ts';
import { testPasskeyPut } from '../support/passkey-put.ts';
import { recorded } from '../support/recorded-request.ts';
import type { TestWorld } from '../support/test-world.ts';
import type { DocumentedOperation } from './openapi-document.ts';

const HOUR_MS = 3_600_000;
const STARTED_AT = '2026-11-01T09:30:00.000Z';

const ALERT = {
  kind: 'node_lost',
  subject: 'n',
  title: 'the node n is lost',
  node: 'm',
  raised_at: '2026-11-01T00:00:00Z',
};

/** Maps the document's sample ids to a running server's ids, by prefix. */
export class Scenario {
  readonly world: TestWorld;
  readonly #ids = new Map<string, string>();
  readonly #pems = new Map<string, string>();
  /** Names a change that nothing depends on. */
  #revision = '';

  private constructor(world: TestWorld) {
    this.world = world;
  }

  static async open(world: TestWorld): Promise<Scenario> {
    const scenario = new Scenario(world);
    const authority = await makeCertificate({ commonName: 'documented CA', isCa: true });
    const server = await makeCertificate({ commonName: 'shop.example.com', dnsNames: ['shop.example.com'] });
    scenario.#pems.set('ca_pem', authority.certificatePem);
    scenario.#pems.set('certificate_pem', server.certificatePem);
    scenario.#pems.set('private_key_pem', server.keyPem);
    return scenario;
  }

  /** Later samples of the same prefix (a second backend) map to the last id but one. */
  learn(id: string, sample?: string): void {
    const prefix = id.split('_')[0] ?? '';
    if (sample !== undefined) this.#ids.set(sample, id);
    this.#ids.set(prefix, id);
  }

  learnRevision(revision: string | null): void {
    this.#revision = revision ?? assert.fail('a write without its revision');
  }

  path({ path }: DocumentedOperation): string {
    return path
      .replaceAll('{edge_id}', () => this.#real('edghts'))
      .replaceAll('{subscription_id}', () => this.#real('esb'))
      .replaceAll('{user_account_id}', () => this.#real('ua'))
      .replaceAll('{type}', 'ip_policy_created.v0')
      .replaceAll('{revision}', () => this.#revision)
      .replaceAll('{id}', () => this.#real(prefixOf(path)));
  }

  /** An example body with existing ids and certificates. */
  body(example: JsonValue, field = ''): JsonValue {
    if (typeof example === 'string') {
      if (example.startsWith('-----BEGIN')) return this.#pems.get(field) ?? assert.fail(field);
      // A link's documented time is in the past one day.
      if (field === 'expires_at') return new Date(Date.now() + HOUR_MS).toISOString();
      return /_2zXAMPLE/.test(example) ? this.#real(example) : example;
    }
    if (Array.isArray(example)) return (example as readonly JsonValue[]).map((item) => this.body(item, field));
    if (!isJsonObject(example)) return example;
    return Object.fromEntries(
      Object.entries(example).map(([name, value]) => [this.body(name) as string, this.body(value, name)]),
    );
  }

  /** Stores what agents, browsers and event delivery would have stored. */
  async feedLiveState(credentialId: string): Promise<void> {
    const { store } = this.world;
    const [session, tunnel, endpoint, user, login, delivery] = ['ts', 'tn', 'ep', 'au', 'as', 'evd'].map((prefix) => {
      const id = newId(prefix);
      this.learn(id);
      return id;
    }) as [string, string, string, string, string, string];
    const alert = newId('al');
    this.learn(alert);
    await store.commit({ puts: [alertPut(alert, ALERT)] });
    const held = { credentialId, bootId: 'boot', expiresAtMs: Date.now() + HOUR_MS };
    await store.presence.put([
      { ...held, kind: 'tunnel_session', id: session, parent: null, doc: SESSION },
      { ...held, kind: 'tunnel', id: tunnel, parent: session, doc: TUNNEL },
      {
        ...held,
        kind: 'tunnel',
        id: newId('tn'),
        parent: session,
        doc: { ...EPHEMERAL_TUNNEL, endpoint_id: endpoint },
      },
      { ...held, kind: 'endpoint', id: endpoint, parent: tunnel, doc: { ...ENDPOINT, tunnel_id: tunnel } },
    ]);
    await feedLogin(store, login, {
      userId: user,
      userDoc: USER,
      edgeId: this.#real('edghts'),
      lastActiveMs: Date.now(),
      expiresAtMs: Date.now() + HOUR_MS,
      doc: { ...LOGIN, route_id: this.#real('edghtsrt') },
    });
    const [node] = (await this.world.api('GET', '/nodes')).body.nodes;
    this.learn(node.id);
    const request = recorded({ passes: ['ip_restriction', { reason: 'allowed' }], waits: ['ip_restriction', 1] });
    this.world.server.history.record(request);
    this.learn(request.id);
    const managed = managedPut(newId('mc'), 'shop.example.com', { job: FAILED_JOB });
    this.learn(managed.id);
    const loggedIn = consoleSessionPut(newId('cs'), Date.now());
    this.learn(loggedIn.id);
    const passkey = testPasskeyPut(newId('pk'), this.#real('ua'));
    this.learn(passkey.id);
    assert.ok((await store.commit({ puts: [managed, loggedIn, passkey] })).ok);
    await store.deliveries.put([
      {
        id: delivery,
        subscriptionId: this.#real('esb'),
        destinationId: this.#real('ed'),
        event: { id: newId('ev'), type: 'ip_policy_created.v0', createdAtMs: Date.now(), payload: { any: 'thing' } },
        state: 'dead',
        attempts: [{ at: STARTED_AT, status: null, error: 'the connection was refused', duration_ms: 3 }],
        createdAtMs: Date.now(),
        nextAttemptAtMs: null,
      },
    ]);
  }

  #real(sample: string): string {
    const prefix = sample.split('_')[0] ?? '';
    return this.#ids.get(sample) ?? this.#ids.get(prefix) ?? assert.fail(`nothing stands for ${sample} yet`);
  }
}

/** The prefix of the ids at `{id}`. */
function prefixOf(path: string): string {
  const collection = path.slice(0, path.indexOf('/{id}'));
  const prefix = PREFIXES[collection];
  return prefix ?? assert.fail(`no prefix for ${collection}`);
}

const PREFIXES: Readonly<Record<string, string>> = Object.fromEntries(
  resources.map(({ path, idPrefix }) => [path, idPrefix]),
);

const SESSION: JsonObject = {
  agent_version: '0.1.0',
  ip: '203.0.113.7',
  metadata: 'of the session',
  os: 'linux',
  region: 'local',
  started_at: STARTED_AT,
  transport: 'postern/1',
};
const TUNNEL: JsonObject = {
  started_at: STARTED_AT,
  region: 'local',
  labels: { app: 'shop' },
  forwards_to: 'http://localhost:3000',
};
const EPHEMERAL_TUNNEL: JsonObject = {
  started_at: STARTED_AT,
  region: 'local',
  public_url: 'https://x.localhost',
  proto: 'https',
  forwards_to: 'http://localhost:3000',
};
const ENDPOINT: JsonObject = {
  region: 'local',
  created_at: STARTED_AT,
  public_url: 'https://x.localhost',
  proto: 'https',
  hostport: 'x.localhost:443',
  type: 'ephemeral',
};
const USER: JsonObject = {
  identity_provider: { name: 'oidc', url: 'https://accounts.example.com' },
  provider_user_id: '1',
  username: 'jane',
  email: 'jane@example.com',
  name: 'Jane Doe',
  created_at: STARTED_AT,
  last_active: STARTED_AT,
  last_login: STARTED_AT,
};
const LOGIN: JsonObject = {
  public_url: 'https://x.localhost',
  user_agent: 'a browser',
  ip_address: '203.0.113.7',
  created_at: STARTED_AT,
  host: 'x.localhost',
  scopes: ['openid'],
  subject: 'alice',
  email: 'alice@example.com',
  name: 'Alice',
  claims: {},
  dropped_claims: [],
  access_expires_at_ms: null,
  refreshed_at_ms: 0,
};
