import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { AcmeFailure, type Problem, problemOf } from './acme-failure.ts';
import { type AcmeAnswer, type AcmeServer, isUsableUrl, type Signer } from './acme-server.ts';

export type OrderStatus = 'pending' | 'ready' | 'processing' | 'valid' | 'invalid';

export interface Order {
  readonly url: string;
  readonly status: OrderStatus;
  readonly authorizations: readonly string[];
  readonly finalize: string;
  readonly certificate: string | null;
  readonly problem: Problem | null;
  readonly identifiers: readonly string[];
  readonly retryAtMs: number | null;
}

export interface Authorization {
  readonly status: string;
  readonly challenges: readonly Challenge[];
  readonly retryAtMs: number | null;
}

export interface Challenge {
  readonly type: string;
  readonly url: string;
  readonly status: string;
  readonly token: string;
  readonly problem: Problem | null;
}

export interface OrderRequest {
  readonly hostname: string;
  readonly profile: string | null;
  /** Certificate id of RFC 9773 §5. */
  readonly replaces: string | null;
}

const ORDER_STATUSES: readonly string[] = ['pending', 'ready', 'processing', 'valid', 'invalid'];
/** One name has one authorization; a few more are harmless. */
const MAX_AUTHORIZATIONS = 10;
const MAX_CHALLENGES = 20;
const MAX_LISTED_ORDERS = 10;
const PEM_CHAIN = 'application/pem-certificate-chain';

/** Orders of one account (RFC 8555 §7.4, §7.5). Every field of an answer is checked before it is used. */
export class AcmeOrders {
  readonly #server: AcmeServer;
  readonly #signer: Signer;
  readonly #signal: AbortSignal;

  constructor(server: AcmeServer, signer: Signer, signal: AbortSignal) {
    this.#server = server;
    this.#signer = signer;
    this.#signal = signal;
  }

  async create({ hostname, profile, replaces }: OrderRequest): Promise<Order> {
    const { newOrder } = await this.#server.directory();
    const answer = await this.#post(newOrder, 'rejected the order', {
      identifiers: [{ type: 'dns', value: hostname }],
      ...(profile !== null && { profile }),
      ...(replaces !== null && { replaces }),
    });
    if (!isUsableUrl(answer.location)) throw this.#malformed('the order has no https Location');
    return this.#order(answer.location, answer);
  }

  async get(url: string): Promise<Order> {
    return this.#order(url, await this.#post(url, 'did not return the order', null));
  }

  /** Newest open order for the name, if the server lists orders: the answer to its creation may have been lost. */
  async findOpen(ordersUrl: string, hostname: string): Promise<Order | null> {
    const { json } = await this.#post(ordersUrl, 'did not return the list of orders', null);
    const listed = isJsonObject(json) && Array.isArray(json['orders']) ? json['orders'] : [];
    for (const url of listed.filter(isUsableUrl).slice(-MAX_LISTED_ORDERS).reverse()) {
      const order = await this.get(url);
      const isOpen = order.status === 'pending' || order.status === 'ready';
      if (isOpen && order.identifiers.length === 1 && order.identifiers[0] === hostname) return order;
    }
    return null;
  }

  async authorization(url: string): Promise<Authorization> {
    const { json, retryAtMs } = await this.#post(url, 'did not return the authorization', null);
    if (!isJsonObject(json) || typeof json['status'] !== 'string' || !Array.isArray(json['challenges'])) {
      throw this.#malformed('an authorization has no status or challenges');
    }
    return {
      status: json['status'],
      challenges: (json['challenges'] as JsonValue[]).slice(0, MAX_CHALLENGES).flatMap(readChallenge),
      retryAtMs,
    };
  }

  /** Tells the server to validate the challenge. */
  async answer(challenge: Challenge): Promise<void> {
    await this.#post(challenge.url, `rejected the ${challenge.type} challenge`, {});
  }

  /** `request` is the certificate request in DER. */
  async finalize(order: Order, request: Buffer): Promise<Order> {
    const csr = request.toString('base64url');
    return this.#order(order.url, await this.#post(order.finalize, 'rejected the certificate request', { csr }));
  }

  /** The chain in PEM, leaf first. */
  async certificate(url: string): Promise<string> {
    const { text } = await this.#post(url, 'did not return the certificate', null, PEM_CHAIN);
    return text;
  }

  #post(url: string, action: string, payload: JsonObject | null, accept?: string): Promise<AcmeAnswer> {
    const options = { signer: this.#signer, payload, action, signal: this.#signal };
    return this.#server.post(url, accept === undefined ? options : { ...options, accept });
  }

  #order(url: string, { json, retryAtMs }: AcmeAnswer): Order {
    if (!isJsonObject(json)) throw this.#malformed('the order is not a JSON object');
    const { status, authorizations, finalize, certificate, identifiers } = json;
    if (typeof status !== 'string' || !ORDER_STATUSES.includes(status)) {
      throw this.#malformed('the order has no known status');
    }
    if (!isUsableUrl(finalize)) throw this.#malformed('"finalize" of the order is not an https URL');
    const list = Array.isArray(authorizations) ? authorizations : [];
    if (list.length === 0 || list.length > MAX_AUTHORIZATIONS || !list.every(isUsableUrl)) {
      throw this.#malformed('"authorizations" of the order are not https URLs');
    }
    if (status === 'valid' && !isUsableUrl(certificate)) {
      throw this.#malformed('"certificate" of the order is not an https URL');
    }
    return {
      url,
      status: status as OrderStatus,
      authorizations: list as readonly string[],
      finalize,
      certificate: isUsableUrl(certificate) ? certificate : null,
      problem: problemOf(json['error']),
      identifiers: namesOf(identifiers),
      retryAtMs,
    };
  }

  #malformed(reason: string): AcmeFailure {
    return new AcmeFailure('ERR_POSTERN_ACME_RESPONSE', `${this.#server.host} sent an unusable response: ${reason}`);
  }
}

function namesOf(identifiers: JsonValue | undefined): readonly string[] {
  if (!Array.isArray(identifiers)) return [];
  return (identifiers as JsonValue[])
    .slice(0, MAX_AUTHORIZATIONS)
    .map((entry) => (isJsonObject(entry) && typeof entry['value'] === 'string' ? entry['value'].toLowerCase() : ''));
}

/** The token becomes part of a path and of a file for DNS: only base64url, as RFC 8555 §8.1 says. */
function readChallenge(json: JsonValue): Challenge[] {
  if (!isJsonObject(json)) return [];
  const { type, url, status, token } = json;
  if (typeof type !== 'string' || typeof status !== 'string' || !isUsableUrl(url)) return [];
  if (typeof token !== 'string' || !/^[A-Za-z0-9_-]{16,256}$/.test(token)) return [];
  return [{ type, url, status, token, problem: problemOf(json['error']) }];
}
