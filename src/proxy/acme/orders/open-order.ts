import { type Clock, rfc3339 } from '../../../kit/clock.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { OutboxEvent } from '../../../store/store.ts';
import type { ChallengeRecords } from '../../dns/challenge-records.ts';
import { type Account, type Accounts, accountOf } from '../accounts.ts';
import { AcmeFailure } from '../client/acme-failure.ts';
import type { AcmeOrders, Order } from '../client/acme-orders.ts';
import type { AcmeServer } from '../client/acme-server.ts';
import { newPrivateKeyPem, renewalId } from '../client/issued-certificate.ts';
import { type ChallengeType, type ManagedCertificateDoc, NEXT_PRIVATE_KEY, PRIVATE_KEY } from '../records.ts';
import type { ResolveName } from './dns-diagnosis.ts';
import type { Lease } from './lease.ts';

export interface OrderingAccount {
  readonly server: AcmeServer;
  readonly account: Account;
  readonly orders: AcmeOrders;
  readonly signal: AbortSignal;
}

/** Problems that say that this request will never get a certificate that replaces another one (RFC 9773 §5). */
const REPLACES_PROBLEMS: readonly (string | null)[] = ['alreadyReplaced', 'malformed', 'conflict', 'unauthorized'];

/** The order in flight, or a new one. Its intention and its key are stored before the server hears of it. */
export async function openOrder(lease: Lease, ports: OrderPorts, at: OrderingAccount): Promise<Order> {
  return (await orderInFlight(lease, at)) ?? (await newOrder(lease, ports, at));
}

async function orderInFlight(
  lease: Lease,
  { server, account, orders, signal }: OrderingAccount,
): Promise<Order | null> {
  const { order, hostname } = lease.doc;
  if (order === null || order.directory_url !== server.directoryUrl || lease.secret(NEXT_PRIVATE_KEY) === null) {
    return null;
  }
  try {
    if (order.order_url !== null) return await orders.get(order.order_url);
    // The answer to the creation was lost: the order may exist.
    const ordersUrl = (await accountOf(server, account.key, signal))?.ordersUrl ?? null;
    const found = ordersUrl === null ? null : await orders.findOpen(ordersUrl, hostname);
    if (found !== null) await lease.save({ order: { ...order, order_url: found.url, state: 'validating' } });
    return found;
  } catch (error) {
    // The server has forgotten the order. Anything temporary is reported instead.
    if (error instanceof AcmeFailure && !error.isOrderAlive && error.problem !== 'rateLimited') return null;
    throw error;
  }
}

async function newOrder(lease: Lease, ports: OrderPorts, { server, orders }: OrderingAccount): Promise<Order> {
  const { hostname, private_key_type: keyType, directory_url: issuer, certificate_pem: current } = lease.doc;
  const { profiles, renewalInfo } = await server.directory();
  const order = {
    directory_url: server.directoryUrl,
    order_url: null,
    state: 'creating',
    created_at: rfc3339(ports.clock.nowMs()),
    challenge_type: null,
    dns_record: null,
  } as const;
  const currentKey = lease.secret(PRIVATE_KEY);
  const secrets = {
    ...(currentKey !== null && { [PRIVATE_KEY]: JSON.stringify(currentKey) }),
    [NEXT_PRIVATE_KEY]: JSON.stringify(await newPrivateKeyPem(keyType)),
  };
  await lease.save({ order }, { secrets });
  const profile = ports.profile !== null && profiles.includes(ports.profile) ? ports.profile : null;
  const isReplacing = renewalInfo !== null && current !== null && issuer === server.directoryUrl;
  const replaces = isReplacing ? renewalId(current) : null;
  const created = await createOrder(orders, { hostname, profile, replaces });
  await lease.save({ order: { ...order, order_url: created.url, state: 'validating' } });
  return created;
}

async function createOrder(orders: AcmeOrders, request: Parameters<AcmeOrders['create']>[0]): Promise<Order> {
  try {
    return await orders.create(request);
  } catch (error) {
    const isAboutReplacing =
      request.replaces !== null && error instanceof AcmeFailure && REPLACES_PROBLEMS.includes(error.problem);
    if (!isAboutReplacing) throw error;
    return orders.create({ ...request, replaces: null });
  }
}

export type CertificateEventType = 'certificate_issued.v0' | 'certificate_failed.v0' | 'certificate_expiring.v0';

/** What an order needs from the rest of the program. */
export interface OrderPorts {
  readonly clock: Clock;
  readonly replica: Replica;
  readonly accounts: Accounts;
  readonly serverOf: (directoryUrl: string) => AcmeServer;
  /** In the order in which they are tried. */
  readonly directories: readonly string[];
  readonly challenges: readonly ChallengeType[];
  readonly profile: string | null;
  /** Null: the settings have neither a provider nor a hook. */
  readonly dns: ChallengeRecords | null;
  readonly resolve: ResolveName;
  /** Other nodes need this long to learn of a challenge that they have to answer. */
  readonly propagationMs: number;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly random: () => number;
  /** The event to record with the change, if a subscription wants it. */
  readonly event: (type: CertificateEventType, id: string, doc: ManagedCertificateDoc) => readonly OutboxEvent[];
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}
