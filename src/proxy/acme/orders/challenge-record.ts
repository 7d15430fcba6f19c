import type { ChallengeRecords } from '../../dns/challenge-records.ts';
import { DnsFailure } from '../../dns/dns-provider.ts';
import { AcmeFailure } from '../client/acme-failure.ts';
import type { ManagedCertificateDoc, OrderInFlight, StoredDnsRecord } from '../records.ts';
import type { Lease } from './lease.ts';
import type { OrderingAccount, OrderPorts } from './open-order.ts';

/** More than a name and its renewals leave behind; a provider that never removes anything must not fill the record. */
const MAX_LEFTOVERS = 10;

/** Name of the TXT record that proves control over the name, after CNAME records. */
export async function dnsPlace(dns: ChallengeRecords, hostname: string): Promise<string> {
  const name = `_acme-challenge.${hostname.startsWith('*.') ? hostname.slice(2) : hostname}`;
  return asAcmeFailure(dns, name, () => dns.placeOf(name));
}

/** Resolves when the CA may look for the record. */
export async function publishDnsRecord(
  lease: Lease,
  { dns }: OrderPorts,
  { signal }: OrderingAccount,
  record: StoredDnsRecord,
): Promise<void> {
  if (dns === null) return;
  const order = lease.doc.order as OrderInFlight;
  const before = order.dns_record;
  const isRepeated = before !== null && isSame(before, record);
  // A CNAME record has changed meanwhile.
  const leftovers = before === null || isRepeated ? {} : { dns_leftovers: withLeftover(lease, before) };
  // Stored first: the node that continues after a crash knows what to remove.
  await lease.save({ ...leftovers, order: { ...order, challenge_type: 'dns-01', dns_record: record } });
  const { fqdn, value } = record;
  await asAcmeFailure(dns, fqdn, () => dns.add({ name: fqdn, value }, isRepeated, signal));
}

/** Removes what was published for the order. A failure is remembered: the certificate does not depend on it. */
export async function cleanUp(lease: Lease, ports: OrderPorts, signal: AbortSignal): Promise<void> {
  const { order } = lease.doc;
  const record = order?.dns_record ?? null;
  if (order === null || record === null) return;
  const isRemoved = await isGone(lease, ports, record, signal);
  await lease.save({
    order: { ...order, dns_record: null },
    ...(!isRemoved && { dns_leftovers: withLeftover(lease, record) }),
  });
}

/** Records of earlier attempts, whose provider failed. */
export async function removeLeftovers(lease: Lease, ports: OrderPorts, signal: AbortSignal): Promise<void> {
  const leftovers = lease.doc.dns_leftovers ?? [];
  if (leftovers.length === 0) return;
  const kept: StoredDnsRecord[] = [];
  for (const record of leftovers) if (!(await isGone(lease, ports, record, signal))) kept.push(record);
  if (kept.length < leftovers.length) await lease.save({ dns_leftovers: kept });
}

/** Records of a name that nobody asks for any longer. What stays is logged: nothing remembers it. */
export async function abandonRecords(
  doc: ManagedCertificateDoc,
  ports: OrderPorts,
  signal: AbortSignal,
): Promise<void> {
  for (const record of recordsOf(doc)) await isGone({ doc }, ports, record, signal);
}

export function recordsOf({ order, dns_leftovers: leftovers = [] }: ManagedCertificateDoc): readonly StoredDnsRecord[] {
  const current = order?.dns_record ?? null;
  return current === null ? leftovers : [...leftovers, current];
}

/** Also true where nothing can remove it any longer. */
async function isGone(
  { doc: { hostname } }: Pick<Lease, 'doc'>,
  { dns, log }: OrderPorts,
  { fqdn, value }: StoredDnsRecord,
  signal: AbortSignal,
): Promise<boolean> {
  const fields = { hostname, record: fqdn };
  if (dns === null || !dns.canReach(fqdn)) {
    log.warn(fields, 'a DNS record of ACME stays: the settings no longer have a provider for it');
    return true;
  }
  try {
    await dns.remove({ name: fqdn, value }, signal);
    return true;
  } catch (err) {
    log.warn({ ...fields, err }, 'failed to remove a DNS record of ACME; the next attempt tries again');
    return false;
  }
}

function withLeftover({ doc }: Lease, record: StoredDnsRecord): readonly StoredDnsRecord[] {
  const others = (doc.dns_leftovers ?? []).filter((each) => !isSame(each, record));
  return [...others, record].slice(-MAX_LEFTOVERS);
}

function isSame(a: StoredDnsRecord, b: StoredDnsRecord): boolean {
  return a.fqdn === b.fqdn && a.value === b.value;
}

async function asAcmeFailure<Result>(
  dns: ChallengeRecords,
  name: string,
  task: () => Promise<Result>,
): Promise<Result> {
  try {
    return await task();
  } catch (error) {
    if (!(error instanceof DnsFailure)) throw error;
    if (error.isPending)
      throw new AcmeFailure('ERR_POSTERN_ACME_DNS_NOT_VISIBLE', error.message, { isOrderAlive: true });
    const code = dns.isHookFor(name) ? 'ERR_POSTERN_ACME_DNS_HOOK' : 'ERR_POSTERN_ACME_DNS_PROVIDER';
    throw new AcmeFailure(code, error.message);
  }
}
