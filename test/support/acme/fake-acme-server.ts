import { createPublicKey, type KeyObject, randomBytes, verify } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Clock } from '../../../src/kit/clock.ts';
import { systemClock } from '../../../src/kit/clock.ts';
import type { Cleanup } from '../cleanup.ts';
import { openInternalCa } from '../internal-ca.ts';
import { tempDir } from '../temp-dir.ts';
import { type FakeIssuer, openFakeIssuer } from './fake-issuer.ts';

/** What a test can change while the server runs. */
export interface FakeBehaviour {
  /** Called for each request; a returned answer replaces the usual one. `hang` never answers. */
  intercept: ((request: FakeRequest) => FakeAnswer | 'hang' | null | Promise<null>) | null;
  /** Requests that are handled and never answered. */
  loses: ((request: FakeRequest) => boolean) | null;
  /** Seconds of validity. */
  lifeSeconds: number;
  /** Whether a challenge is accepted; a text is the reason why it is not. */
  validate: (hostname: string, type: string) => true | string;
  /** How often an order answers "processing" after it was finalized. */
  processing: number;
  profiles: Readonly<Record<string, string>> | null;
  /** Null: no renewal information. */
  renewal: ((serial: string) => { start: string; end: string; retryAfter?: string }) | null;
  listsOrders: boolean;
}

export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  /** Name of the resource: "newOrder", "authorization". */
  readonly resource: string;
  readonly payload: Record<string, unknown> | null;
}

export interface FakeAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly type?: string;
  readonly body?: string;
}

interface FakeOrder {
  readonly id: string;
  readonly account: string;
  readonly hostname: string;
  readonly request: Record<string, unknown>;
  readonly token: string;
  authorization: 'pending' | 'valid' | 'invalid';
  type: string | null;
  problem: string | null;
  processingLeft: number;
  isFinalized: boolean;
  certificate: string | null;
}

export interface FakeAcmeServer {
  readonly directoryUrl: string;
  readonly caFile: string;
  readonly behaviour: FakeBehaviour;
  /** Every signed or plain request, in order. */
  readonly requests: readonly FakeRequest[];
  readonly orders: FakeOrder[];
  /** Most orders that were open at the same time. */
  readonly mostOpen: () => number;
  readonly accounts: ReadonlyMap<string, unknown>;
  /** A problem document. */
  problem(status: number, type: string, detail: string, headers?: Readonly<Record<string, string>>): FakeAnswer;
}

const ACME = 'urn:ietf:params:acme:error:';

/**
 * An ACME server of our own, for what pebble cannot do: renewal information, profiles, rate limits, failures at will.
 */
export async function startFakeAcme(test: Cleanup, clock: Clock = systemClock): Promise<FakeAcmeServer> {
  const directory = await tempDir(test);
  const ca = await openInternalCa({ dataDir: directory, domain: 'fake.invalid', clock: systemClock });
  const leaf = await ca.mintLeaf({ hosts: ['localhost'], ips: ['127.0.0.1'], days: 2 });
  const caFile = join(directory, 'ca.pem');
  await writeFile(caFile, leaf.caPem);
  const fake = new Fake(await openFakeIssuer(clock));
  const server = createServer({ key: leaf.privateKeyPem, cert: leaf.certificatePem }, (request, response) => {
    fake.serve(request, response).catch((error: unknown) => {
      console.error(error);
      response.writeHead(500, { 'content-type': 'text/plain' }).end(String(error));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  fake.origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  test.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return Object.assign(fake, { directoryUrl: `${fake.origin}/directory`, caFile });
}

class Fake {
  origin = '';
  readonly requests: FakeRequest[] = [];
  readonly orders: FakeOrder[] = [];
  readonly accounts = new Map<string, { key: KeyObject; contact: unknown }>();
  readonly behaviour: FakeBehaviour = {
    intercept: null,
    loses: null,
    lifeSeconds: 90 * 86_400,
    validate: () => true,
    processing: 0,
    profiles: null,
    renewal: null,
    listsOrders: true,
  };
  readonly #issuer: FakeIssuer;
  readonly #nonces = new Set<string>();
  #mostOpen = 0;

  constructor(issuer: FakeIssuer) {
    this.#issuer = issuer;
  }

  readonly mostOpen = (): number => this.#mostOpen;

  problem(status: number, type: string, detail: string, headers: Readonly<Record<string, string>> = {}): FakeAnswer {
    return { status, headers, type: 'application/problem+json', body: JSON.stringify({ type: ACME + type, detail }) };
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const path = request.url ?? '/';
    const [, resource = '', id = ''] = path.split('/');
    const text = Buffer.concat(chunks).toString();
    const message = text === '' ? null : this.#read(text, path);
    const seen: FakeRequest = { method: request.method ?? '', path, resource, payload: message?.payload ?? null };
    this.requests.push(seen);
    const replaced = (await this.behaviour.intercept?.(seen)) ?? null;
    if (replaced === 'hang') return;
    const answer = replaced ?? message?.refusal ?? (await this.#answer(resource, id, message));
    if (this.behaviour.loses?.(seen) === true) return;
    const nonce = randomBytes(12).toString('base64url');
    this.#nonces.add(nonce);
    response.writeHead(answer.status ?? 200, {
      'content-type': answer.type ?? 'application/json',
      // As Let's Encrypt: only where RFC 8555 §6.5 requires one.
      ...((resource === 'newNonce' || request.method === 'POST') && { 'replay-nonce': nonce }),
      'cache-control': 'no-store',
      ...answer.headers,
    });
    response.end(request.method === 'HEAD' ? undefined : answer.body);
  }

  /** Verifies a signed request as RFC 8555 §6 says. */
  #read(text: string, path: string): Message {
    const jws = JSON.parse(text) as { protected: string; payload: string; signature: string };
    const header = JSON.parse(Buffer.from(jws.protected, 'base64url').toString()) as Record<string, unknown>;
    const account = typeof header['kid'] === 'string' ? header['kid'] : null;
    const key =
      account === null
        ? createPublicKey({ key: header['jwk'] as never, format: 'jwk' })
        : (this.accounts.get(account)?.key ?? null);
    const payload = jws.payload === '' ? null : (JSON.parse(Buffer.from(jws.payload, 'base64url').toString()) as never);
    const base = { account, key, payload };
    if (key === null) return { ...base, refusal: this.problem(400, 'accountDoesNotExist', 'no such account') };
    const isSigned = verify(
      'sha256',
      Buffer.from(`${jws.protected}.${jws.payload}`),
      { key, dsaEncoding: 'ieee-p1363' },
      Buffer.from(jws.signature, 'base64url'),
    );
    if (!isSigned) return { ...base, refusal: this.problem(401, 'unauthorized', 'the signature is wrong') };
    if (header['url'] !== this.origin + path)
      return { ...base, refusal: this.problem(401, 'unauthorized', 'wrong url') };
    if (!this.#nonces.delete(String(header['nonce']))) {
      return { ...base, refusal: this.problem(400, 'badNonce', 'the nonce was used or is unknown') };
    }
    return { ...base, refusal: null };
  }

  async #answer(resource: string, id: string, message: Message | null): Promise<FakeAnswer> {
    if (resource === 'directory') return json(this.#directory());
    if (resource === 'newNonce') return { status: 200 };
    if (resource === 'renewalInfo') return this.#renewalInfo(id);
    if (message === null) return this.problem(405, 'malformed', 'POST only');
    if (resource === 'newAccount') return this.#newAccount(message);
    if (resource === 'keyChange') return this.#keyChange(message);
    if (resource === 'account') return json({ status: 'valid', ...this.#ordersField(id) });
    if (resource === 'orders') {
      return json({
        orders: this.orders
          .filter(({ account }) => account.endsWith(`/${id}`))
          .map((order) => this.#url('order', order)),
      });
    }
    if (resource === 'newOrder') return this.#newOrder(message);
    const order = this.orders.find((known) => known.id === id);
    if (order === undefined) return this.problem(404, 'malformed', 'no such resource');
    if (resource === 'order') return json(this.#order(order));
    if (resource === 'authorization') return json(this.#authorization(order));
    if (resource === 'challenge') return this.#challenge(order, message);
    if (resource === 'finalize') return this.#finalize(order, message);
    if (resource === 'certificate' && order.certificate !== null) {
      return { type: 'application/pem-certificate-chain', body: order.certificate };
    }
    return this.problem(404, 'malformed', 'no such resource');
  }

  #directory(): object {
    const { profiles, renewal } = this.behaviour;
    const names = ['newNonce', 'newAccount', 'newOrder', 'keyChange', ...(renewal === null ? [] : ['renewalInfo'])];
    return {
      ...Object.fromEntries(names.map((name) => [name, `${this.origin}/${name}`])),
      meta: { termsOfService: `${this.origin}/terms`, ...(profiles !== null && { profiles }) },
    };
  }

  #newAccount({ key, payload }: Message): FakeAnswer {
    const known = [...this.accounts].find(([, account]) => account.key.equals(key as KeyObject))?.[0];
    if (known === undefined && payload?.['onlyReturnExisting'] === true) {
      return this.problem(400, 'accountDoesNotExist', 'no such account');
    }
    const url = known ?? `${this.origin}/account/${this.accounts.size + 1}`;
    if (known === undefined) this.accounts.set(url, { key: key as KeyObject, contact: payload?.['contact'] });
    const id = url.slice(url.lastIndexOf('/') + 1);
    const body = { status: 'valid', ...this.#ordersField(id) };
    return { ...json(body), status: known === undefined ? 201 : 200, headers: { location: url } };
  }

  #keyChange({ account, payload }: Message): FakeAnswer {
    const header = JSON.parse(Buffer.from(String(payload?.['protected']), 'base64url').toString()) as { jwk: never };
    const known = this.accounts.get(account as string);
    this.accounts.set(account as string, {
      contact: known?.contact,
      key: createPublicKey({ key: header.jwk, format: 'jwk' }),
    });
    return json({});
  }

  #ordersField(accountId: string): object {
    return this.behaviour.listsOrders ? { orders: `${this.origin}/orders/${accountId}` } : {};
  }

  #newOrder({ account, payload }: Message): FakeAnswer {
    const [identifier] = (payload?.['identifiers'] ?? []) as { value: string }[];
    const order: FakeOrder = {
      id: String(this.orders.length + 1),
      account: account as string,
      hostname: identifier?.value ?? '',
      request: payload as Record<string, unknown>,
      token: randomBytes(16).toString('base64url'),
      authorization: 'pending',
      type: null,
      problem: null,
      processingLeft: this.behaviour.processing,
      isFinalized: false,
      certificate: null,
    };
    this.orders.push(order);
    const open = this.orders.filter(
      ({ certificate, authorization }) => certificate === null && authorization !== 'invalid',
    );
    this.#mostOpen = Math.max(this.#mostOpen, open.length);
    return { ...json(this.#order(order)), status: 201, headers: { location: this.#url('order', order) } };
  }

  #order(order: FakeOrder): object {
    const isDone = order.isFinalized && order.processingLeft <= 0;
    if (order.isFinalized) order.processingLeft -= 1;
    const open = order.authorization === 'valid' ? 'ready' : order.authorization;
    const status = order.isFinalized ? (isDone ? 'valid' : 'processing') : open;
    return {
      status,
      identifiers: [{ type: 'dns', value: order.hostname }],
      authorizations: [this.#url('authorization', order)],
      finalize: this.#url('finalize', order),
      ...(status === 'valid' && { certificate: this.#url('certificate', order) }),
    };
  }

  #authorization(order: FakeOrder): object {
    const isWildcard = order.hostname.startsWith('*.');
    const types = isWildcard ? ['dns-01'] : ['http-01', 'dns-01', 'tls-alpn-01'];
    return {
      status: order.authorization,
      identifier: { type: 'dns', value: order.hostname.replace('*.', '') },
      challenges: types.map((type) => ({
        type,
        url: `${this.#url('challenge', order)}/${type}`,
        status: type === order.type ? order.authorization : 'pending',
        token: order.token,
        ...(type === order.type &&
          order.problem !== null && { error: { type: `${ACME}unauthorized`, detail: order.problem } }),
      })),
    };
  }

  async #challenge(order: FakeOrder, _message: Message): Promise<FakeAnswer> {
    const type = this.requests.at(-1)?.path.split('/')[3] ?? '';
    order.type = type;
    const verdict = this.behaviour.validate(order.hostname, type);
    order.authorization = verdict === true ? 'valid' : 'invalid';
    order.problem = verdict === true ? null : verdict;
    return json({ type, url: this.requests.at(-1)?.path, status: order.authorization, token: order.token });
  }

  async #finalize(order: FakeOrder, { payload }: Message): Promise<FakeAnswer> {
    if (order.authorization !== 'valid') return this.problem(403, 'orderNotReady', 'the order is not ready');
    if (!order.isFinalized) {
      const csr = Buffer.from(String(payload?.['csr']), 'base64url');
      order.certificate = await this.#issuer.issue(csr, order.hostname, this.behaviour.lifeSeconds);
      order.isFinalized = true;
    }
    return json(this.#order(order));
  }

  #renewalInfo(id: string): FakeAnswer {
    const { renewal } = this.behaviour;
    if (renewal === null) return this.problem(404, 'malformed', 'none');
    const { retryAfter, ...suggestedWindow } = renewal(id);
    return { ...json({ suggestedWindow }), headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter } };
  }

  #url(resource: string, { id }: FakeOrder): string {
    return `${this.origin}/${resource}/${id}`;
  }
}

interface Message {
  readonly account: string | null;
  readonly key: KeyObject | null;
  readonly payload: Record<string, unknown> | null;
  readonly refusal: FakeAnswer | null;
}

function json(body: object): FakeAnswer {
  return { body: JSON.stringify(body) };
}
