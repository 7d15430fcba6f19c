import { TimeSlice } from '../../lib/async/slice-lane.ts';
import { isJsonObject } from '../../lib/json.ts';
import { lowerCaseHost } from '../../lib/net/host-name.ts';
import { hostOf } from '../../lib/net/split-address.ts';
import type { Replica } from '../../replica/replica.ts';
import { ACME_LANE } from '../acme-lane.ts';
import type { PrivateKeyType } from '../records.ts';
import { CertificateNames } from './certificate-names.ts';
import { isPublicName } from './public-name.ts';

export interface WantedName {
  readonly keyType: PrivateKeyType;
  /** A name of this process's own listeners. */
  readonly isOwn: boolean;
}

export interface WantedNames {
  readonly names: ReadonlyMap<string, WantedName>;
  /** When an uploaded certificate that makes an order unnecessary expires, or becomes valid; null: never. */
  readonly changesAtMs: number | null;
}

export interface WantedOptions {
  readonly replica: Pick<Replica, 'all'>;
  readonly ownNames: readonly string[];
  /** Whether wildcards can be ordered. */
  readonly hasDns: boolean;
  readonly nowMs: number;
}

export const WANTED_KINDS: readonly string[] = ['https_edge', 'reserved_domain', 'tls_certificate'];

interface Policy {
  readonly certificateId: string;
  readonly authority: string | null;
  readonly keyType: PrivateKeyType;
}

/**
 * The names to order certificates for: only those that somebody configured. Names in handshakes and names that agents
 * choose are not among them.
 */
export async function wantedNames({ replica, ownNames, hasDns, nowMs }: WantedOptions): Promise<WantedNames> {
  const uploaded = new CertificateNames();
  const policies = new Map<string, Policy>();
  const hosts = new Set<string>();
  await inSlices(replica.all('tls_certificate'), (record) => uploaded.add(record));
  await inSlices(replica.all('reserved_domain'), ({ doc }) => {
    const domain = lowerCaseHost(doc['domain'] as string);
    policies.set(domain, policyOf(doc['certificate_id'], doc['certificate_management_policy']));
    hosts.add(domain);
  });
  await inSlices(replica.all('https_edge'), ({ doc }) => {
    for (const hostport of (doc['hostports'] ?? []) as readonly string[]) {
      hosts.add(lowerCaseHost(hostOf(hostport)));
    }
  });
  const own = new Set(ownNames.map(lowerCaseHost));
  const names = new Map<string, WantedName>();
  let changesAtMs: number | null = null;
  for (const name of own) hosts.add(name);
  await inSlices(hosts, (host) => {
    if (!isPublicName(host) || (host.startsWith('*.') && !hasDns)) return;
    // As at the edge: the domain itself decides, then the wildcard above it.
    const policy = policies.get(host) ?? policies.get(`*${host.slice(host.indexOf('.'))}`);
    if (policy?.authority === 'internal') return;
    const keyType = policy?.keyType ?? 'ecdsa';
    const untilMs = uploaded.servesUntilMs(host, policy?.certificateId ?? '', nowMs);
    if (untilMs === null || policy?.authority === 'letsencrypt') names.set(host, { keyType, isOwn: own.has(host) });
    else changesAtMs = Math.min(changesAtMs ?? untilMs, untilMs);
  });
  return { names, changesAtMs };
}

function policyOf(certificateId: unknown, policy: unknown): Policy {
  const { authority, private_key_type: keyType } = isJsonObject(policy) ? policy : {};
  return {
    certificateId: typeof certificateId === 'string' ? certificateId : '',
    authority: typeof authority === 'string' ? authority : null,
    keyType: keyType === 'rsa' ? 'rsa' : 'ecdsa',
  };
}

async function inSlices<Item>(items: Iterable<Item>, visit: (item: Item) => void): Promise<void> {
  const slice = new TimeSlice(ACME_LANE);
  for (const item of items) {
    visit(item);
    if (slice.isOver) await slice.next();
  }
}
