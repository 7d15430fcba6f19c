import { createHash } from 'node:crypto';
import { rfc3339 } from '../../../kit/clock.ts';
import type { RecordKey, RecordPut } from '../../../store/store.ts';
import { AcmeFailure, problemText } from '../client/acme-failure.ts';
import type { Authorization, Challenge } from '../client/acme-orders.ts';
import {
  ACME_CHALLENGE_KIND,
  type AcmeChallengeDoc,
  type ChallengeType,
  challengeId,
  type OrderInFlight,
} from '../records.ts';
import { cleanUp, dnsPlace, publishDnsRecord } from './challenge-record.ts';
import { dnsDiagnosis } from './dns-diagnosis.ts';
import type { Lease } from './lease.ts';
import type { OrderingAccount, OrderPorts } from './open-order.ts';

const ANSWERED_TYPES = ['tls-alpn-01', 'http-01'] as const;
/** A challenge that was left behind is not answered any longer after this time. */
const CHALLENGE_MS = 60 * 60 * 1000;

/** Proves control over the name. Returns when the server has accepted it. */
export async function authorize(
  lease: Lease,
  ports: OrderPorts,
  at: OrderingAccount & { readonly polling: Polling },
  url: string,
): Promise<void> {
  const { orders } = at;
  const authorization = await orders.authorization(url);
  if (authorization.status === 'valid') return;
  const challenge = chosenChallenge(lease, ports, at, authorization);
  if (authorization.status !== 'pending') throw await refused(lease, ports, challenge, authorization);
  const prove = (fqdn: string | null) => validate(lease, ports, at, { url, challenge, fqdn });
  if (challenge.type !== 'dns-01' || ports.dns === null) return prove(null);
  const fqdn = await dnsPlace(ports.dns, lease.doc.hostname);
  await ports.dns.inTurn(fqdn, async () => {
    try {
      await prove(fqdn);
    } catch (error) {
      const isOver = error instanceof AcmeFailure && !error.isOrderAlive && !at.signal.aborted;
      if (isOver) await cleanUp(lease, ports, at.signal);
      throw error;
    }
    // In the same turn as its publication: a hook may remove all values of the name.
    await cleanUp(lease, ports, at.signal);
  });
}

/** Why an invalid order failed, if one of its authorizations did. */
export async function failedAuthorization(
  lease: Lease,
  ports: OrderPorts,
  { orders }: OrderingAccount,
  urls: readonly string[],
): Promise<AcmeFailure | null> {
  for (const url of urls) {
    const authorization = await orders.authorization(url);
    const [challenge] = authorization.challenges;
    if (authorization.status === 'invalid' && challenge !== undefined) {
      return refused(lease, ports, challenge, authorization);
    }
  }
  return null;
}

interface Validation {
  readonly url: string;
  readonly challenge: Challenge;
  /** Name of the DNS record; null: the challenge needs none. */
  readonly fqdn: string | null;
}

async function validate(
  lease: Lease,
  ports: OrderPorts,
  at: OrderingAccount & { readonly polling: Polling },
  { url, challenge, fqdn }: Validation,
): Promise<void> {
  if (fqdn === null) await publish(lease, ports, at, challenge);
  else await publishDnsRecord(lease, ports, at, { fqdn, value: dnsValue(keyAuthorizationOf(at, challenge)) });
  if (challenge.status === 'pending') {
    await ports.wait(ports.propagationMs, at.signal);
    await at.orders.answer(challenge);
  }
  for (;;) {
    const seen = await at.orders.authorization(url);
    if (seen.status === 'valid') return;
    if (seen.status !== 'pending') throw await refused(lease, ports, challenge, seen);
    await at.polling.next(seen.retryAtMs, `has not validated ${lease.doc.hostname} by ${challenge.type}`);
  }
}

async function publish(
  lease: Lease,
  ports: OrderPorts,
  at: OrderingAccount,
  { type, token }: Challenge,
): Promise<void> {
  const { hostname } = lease.doc;
  const order = lease.doc.order as OrderInFlight;
  const nowMs = ports.clock.nowMs();
  const doc: AcmeChallengeDoc = {
    hostname,
    type: type as AcmeChallengeDoc['type'],
    token,
    key_authorization: keyAuthorizationOf(at, { token }),
    // By our clock alone: the server's may differ.
    expires_at: rfc3339(nowMs + CHALLENGE_MS),
  };
  await lease.save({ order: { ...order, challenge_type: doc.type } }, { puts: [challengePut(doc)] });
}

/** Challenge records of the name that exist. */
export function challengeKeys(replica: OrderPorts['replica'], hostname: string): readonly RecordKey[] {
  return ANSWERED_TYPES.map((type) => ({ kind: ACME_CHALLENGE_KIND, id: challengeId(hostname, type) })).filter(
    ({ kind, id }) => replica.get(kind, id) !== undefined,
  );
}

function challengePut(doc: AcmeChallengeDoc): RecordPut {
  const id = challengeId(doc.hostname, doc.type);
  return { kind: ACME_CHALLENGE_KIND, id, parent: null, doc, secrets: null, uniqueKeys: [], references: [] };
}

/** One that an interrupted order has begun with; else the configured ones, another one after each failure. */
function chosenChallenge(
  lease: Lease,
  { challenges }: OrderPorts,
  { server }: OrderingAccount,
  { challenges: offered }: Authorization,
): Challenge {
  const { hostname, order, job, challenge_type: successful } = lease.doc;
  const types = hostname.startsWith('*.') ? (['dns-01'] as const) : challenges;
  const begun = order?.challenge_type ?? null;
  const wanted = begun === null ? rotated(types, successful, job?.attempts ?? 0) : [begun];
  for (const type of wanted) {
    const challenge = offered.find((candidate) => candidate.type === type);
    if (challenge !== undefined) return challenge;
  }
  const names = [...new Set(offered.map(({ type }) => type.slice(0, 40)))].join(', ') || 'none';
  const message = `${server.host} offers no usable challenge for ${hostname}: it offers ${names}, and acme_challenges has ${types.join(', ')}`;
  throw new AcmeFailure('ERR_POSTERN_ACME_NO_CHALLENGE', message);
}

function rotated(
  types: readonly ChallengeType[],
  first: ChallengeType | null,
  failures: number,
): readonly ChallengeType[] {
  const start = Math.max(first === null ? 0 : types.indexOf(first), 0) + failures;
  return types.map((_, index) => types[(start + index) % types.length] as ChallengeType);
}

async function refused(
  lease: Lease,
  { resolve }: OrderPorts,
  { type }: Challenge,
  { challenges, status }: Authorization,
): Promise<AcmeFailure> {
  const { hostname } = lease.doc;
  const failed = challenges.find(({ problem }) => problem !== null) ?? null;
  const reason =
    failed?.problem == null ? `the authorization is "${status.slice(0, 40)}"` : problemText(failed.problem);
  const diagnosis = type === 'dns-01' ? null : await dnsDiagnosis(hostname, resolve);
  const message = `${diagnosis === null ? '' : `${diagnosis}; `}${failed?.type ?? type} failed for ${hostname}: ${reason}`;
  return new AcmeFailure('ERR_POSTERN_ACME_CHALLENGE', message, { problem: failed?.problem?.type ?? null });
}

function keyAuthorizationOf({ account }: OrderingAccount, { token }: Pick<Challenge, 'token'>): string {
  return `${token}.${account.key.thumbprint}`;
}

function dnsValue(keyAuthorization: string): string {
  return createHash('sha256').update(keyAuthorization).digest('base64url');
}

const FIRST_MS = 250;
const LONGEST_MS = 15_000;
/** Afterwards the order is left as it is, and continued with the next attempt. */
const PATIENCE_MS = 10 * 60 * 1000;

/** Waits between questions about one order, in all for a bounded time. */
export class Polling {
  readonly #ports: Pick<OrderPorts, 'clock' | 'wait'>;
  readonly #signal: AbortSignal;
  readonly #host: string;
  readonly #untilMs: number;
  #waitMs = FIRST_MS;

  constructor(ports: Pick<OrderPorts, 'clock' | 'wait'>, host: string, signal: AbortSignal) {
    this.#ports = ports;
    this.#signal = signal;
    this.#host = host;
    this.#untilMs = ports.clock.nowMs() + PATIENCE_MS;
  }

  /** `state` completes the message: "has not …". */
  async next(retryAtMs: number | null, state: string): Promise<void> {
    const nowMs = this.#ports.clock.nowMs();
    const waitMs = Math.max(this.#waitMs, (retryAtMs ?? 0) - nowMs);
    this.#waitMs = Math.min(this.#waitMs * 1.5, LONGEST_MS);
    if (nowMs + waitMs > this.#untilMs) {
      const message = `${this.#host} ${state} within ${PATIENCE_MS / 60_000} minutes; the same order is continued later`;
      throw new AcmeFailure('ERR_POSTERN_ACME_PENDING', message, { isOrderAlive: true, retryAtMs });
    }
    await this.#ports.wait(waitMs, this.#signal);
  }
}
