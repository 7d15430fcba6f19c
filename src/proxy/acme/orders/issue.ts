import { rfc3339 } from '../../../kit/clock.ts';
import { loadPart } from '../../../kit/load-part.ts';
import { AcmeFailure, problemText } from '../client/acme-failure.ts';
import { AcmeOrders, type Order } from '../client/acme-orders.ts';
import { type IssuedCertificate, issuedCertificate, type RenewalWindow } from '../client/issued-certificate.ts';
import { type ManagedCertificateDoc, NEXT_PRIVATE_KEY, type OrderInFlight, PRIVATE_KEY } from '../records.ts';
import { authorize, challengeKeys, failedAuthorization, Polling } from './authorize.ts';
import { cleanUp } from './challenge-record.ts';
import type { Lease } from './lease.ts';
import { type OrderingAccount, type OrderPorts, openOrder } from './open-order.ts';

/**
 * Gets a certificate from one server and stores it. The server's view of the order decides about the next step, so an
 * interrupted order continues where it stopped. Every step is stored before the next one.
 */
export async function issue(
  recordId: string,
  lease: Lease,
  ports: OrderPorts,
  { directoryUrl, signal }: { readonly directoryUrl: string; readonly signal: AbortSignal },
): Promise<void> {
  const server = ports.serverOf(directoryUrl);
  const account = await ports.accounts.get(server, signal);
  const orders = new AcmeOrders(server, account, signal);
  const polling = new Polling(ports, server.host, signal);
  const at = { server, account, orders, signal, polling };
  try {
    let order = await openOrder(lease, ports, at);
    while (order.status !== 'valid') order = await advance(lease, ports, at, order);
    const chain = await orders.certificate(order.certificate as string);
    const issued = issuedCertificate(chain, {
      privateKeyPem: lease.secret(NEXT_PRIVATE_KEY) as string,
      hostname: lease.doc.hostname,
      nowMs: ports.clock.nowMs(),
    });
    await cleanUp(lease, ports, signal);
    await store(recordId, lease, ports, directoryUrl, issued, (await server.directory()).renewalInfo !== null);
  } catch (error) {
    server.distrustDirectory();
    if (error instanceof AcmeFailure && error.problem === 'accountDoesNotExist') await ports.accounts.forget(account);
    throw error;
  }
}

type At = OrderingAccount & { readonly polling: Polling };

/** One step, and the order after it. */
async function advance(lease: Lease, ports: OrderPorts, at: At, order: Order): Promise<Order> {
  const { orders, polling, signal, server } = at;
  const { hostname } = lease.doc;
  if (order.status === 'pending') {
    for (const url of order.authorizations) await authorize(lease, ports, at, url);
    const next = await orders.get(order.url);
    if (next.status === 'pending') await polling.next(next.retryAtMs, `has not accepted the order for ${hostname}`);
    return next;
  }
  if (order.status === 'ready') {
    await cleanUp(lease, ports, signal);
    const inFlight = lease.doc.order as OrderInFlight;
    await lease.save(
      { order: { ...inFlight, state: 'finalizing' } },
      { deletes: challengeKeys(ports.replica, hostname) },
    );
    const { certificateRequest } = await loadPart(() => import('../client/certificate-request.ts'));
    const request = await certificateRequest(lease.secret(NEXT_PRIVATE_KEY) as string, hostname);
    const next = await finalized(orders, order, request);
    // An order that is pending again would otherwise be repeated without pause and without end.
    if (next.status === 'ready' || next.status === 'pending')
      await polling.next(next.retryAtMs, `has not finalized the order for ${hostname}`);
    return next;
  }
  if (order.status === 'processing') {
    await polling.next(order.retryAtMs, `is still processing the order for ${hostname} and has not issued it`);
    return orders.get(order.url);
  }
  const failed = order.problem === null ? await failedAuthorization(lease, ports, at, order.authorizations) : null;
  if (failed !== null) throw failed;
  const reason = order.problem === null ? 'without a reason' : problemText(order.problem);
  const message = `${server.host} declared the order for ${hostname} invalid: ${reason}`;
  throw new AcmeFailure('ERR_POSTERN_ACME_REJECTED', message, { problem: order.problem?.type ?? null });
}

/** An order that is not ready yet after all is asked for again (RFC 8555 §7.4). */
async function finalized(orders: AcmeOrders, order: Order, request: Buffer): Promise<Order> {
  try {
    return await orders.finalize(order, request);
  } catch (error) {
    if (error instanceof AcmeFailure && error.problem === 'orderNotReady') return orders.get(order.url);
    throw error;
  }
}

async function store(
  recordId: string,
  lease: Lease,
  ports: OrderPorts,
  directoryUrl: string,
  issued: IssuedCertificate,
  hasRenewalInfo: boolean,
): Promise<void> {
  const { hostname, order } = lease.doc;
  const nowMs = ports.clock.nowMs();
  const changes: Partial<ManagedCertificateDoc> = {
    certificate_pem: issued.certificatePem,
    serial_number: issued.serialNumber,
    not_before: rfc3339(issued.notBeforeMs),
    not_after: rfc3339(issued.notAfterMs),
    directory_url: directoryUrl,
    challenge_type: order?.challenge_type ?? lease.doc.challenge_type,
    renews_at: rfc3339(Math.max(defaultRenewalMs(issued), earliestRenewalMs(issued, nowMs))),
    renewal_checked_at: null,
    renewal_check_at: hasRenewalInfo ? rfc3339(nowMs) : null,
    expiring_reported: null,
    job: null,
    order: null,
  };
  await lease.save(changes, {
    secrets: { [PRIVATE_KEY]: JSON.stringify(lease.secret(NEXT_PRIVATE_KEY)) },
    deletes: challengeKeys(ports.replica, hostname),
    events: (doc) => ports.event('certificate_issued.v0', recordId, doc),
  });
  ports.log.info({ hostname, directory: directoryUrl, not_after: changes.not_after }, 'a certificate was issued');
}

interface Lifetime {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** The latest renewal, as a part of the life: after this, a failing server would leave no time. */
const LATEST = 0.9;
const SOONEST_MS = 60 * 60 * 1000;
const SHORTEST_MS = 60 * 1000;

/** Without renewal information: at two thirds of the life. */
function defaultRenewalMs({ notBeforeMs, notAfterMs }: Lifetime): number {
  return Math.round(notBeforeMs + ((notAfterMs - notBeforeMs) * 2) / 3);
}

/**
 * A new certificate is kept for this time. A server whose window is always over, or whose certificates are nearly over,
 * would otherwise be sent one order after the other.
 */
export function earliestRenewalMs({ notAfterMs }: Pick<Lifetime, 'notAfterMs'>, nowMs: number): number {
  return Math.round(nowMs + Math.max(Math.min((notAfterMs - nowMs) / 2, SOONEST_MS), SHORTEST_MS));
}

/** A random time in the server's window (RFC 9773 §4.2). A time chosen earlier is kept while it is inside. */
export function renewalInWindowMs(
  { startMs, endMs }: RenewalWindow,
  life: Lifetime,
  chosenMs: number | null,
  random: () => number,
): number {
  const latestMs = life.notBeforeMs + (life.notAfterMs - life.notBeforeMs) * LATEST;
  if (chosenMs !== null && chosenMs >= startMs && chosenMs <= endMs) return Math.min(chosenMs, latestMs);
  return Math.round(Math.min(startMs + (endMs - startMs) * random(), latestMs));
}
