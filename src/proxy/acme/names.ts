import { isIP } from 'node:net';
import { edgeRecordKindOf } from '../../edges/edge-kind.ts';
import { namesIn } from '../../edges/owned-names.ts';
import { storedEdgeKinds } from '../../edges/record-kinds.ts';
import { SliceQueue, TimeSlice } from '../../kit/async/slices.ts';
import { isJsonObject } from '../../kit/json.ts';
import { hostNameProblem, lowerCaseHost } from '../../kit/net/host-name.ts';
import type { Replica } from '../../store/replica/replica.ts';
import type { StoredRecord } from '../../store/store.ts';
import type { PrivateKeyType } from './records.ts';

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

interface WantedOptions {
  readonly replica: Pick<Replica, 'all'>;
  readonly ownNames: readonly string[];
  /** Whether wildcards can be ordered. */
  readonly hasDns: boolean;
  readonly nowMs: number;
}

const EDGES_WITH_CERTIFICATES = storedEdgeKinds.filter(({ endsTls }) => endsTls).map(edgeRecordKindOf);
export const WANTED_KINDS: readonly string[] = [...EDGES_WITH_CERTIFICATES, 'reserved_domain', 'tls_certificate'];

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
  for (const kind of EDGES_WITH_CERTIFICATES)
    await inSlices(replica.all(kind), ({ doc }) => {
      for (const host of namesIn(doc)) hosts.add(lowerCaseHost(host));
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
  const slice = new TimeSlice(ACME_QUEUE);
  for (const item of items) {
    visit(item);
    if (slice.isOver) await slice.next();
  }
}

interface Uploaded {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** Which names have an uploaded certificate. The edge prefers those, so that nothing needs to be ordered. */
class CertificateNames {
  readonly #byId = new Map<string, Uploaded>();
  readonly #byName = new Map<string, Uploaded[]>();

  add({ id, doc }: StoredRecord): void {
    const { subject_alternative_names: alternatives, extended_key_usages: usages } = doc;
    const { dns_names: names = [] } = (alternatives ?? {}) as { readonly dns_names?: readonly string[] };
    const uploaded = {
      notBeforeMs: Date.parse(doc['not_before'] as string),
      notAfterMs: Date.parse(doc['not_after'] as string),
    };
    this.#byId.set(id, uploaded);
    const kinds = (usages ?? []) as readonly string[];
    if (kinds.length > 0 && !kinds.includes('server_auth') && !kinds.includes('any')) return;
    for (const name of new Set(names.map((given) => given.toLowerCase()))) {
      const others = this.#byName.get(name);
      if (others === undefined) this.#byName.set(name, [uploaded]);
      else others.push(uploaded);
    }
  }

  /** When the certificate that serves the name now expires; null if there is none. */
  servesUntilMs(host: string, certificateId: string, nowMs: number): number | null {
    const chosen = this.#byId.get(certificateId);
    const wildcard = host.startsWith('*.') ? [] : (this.#byName.get(`*${host.slice(host.indexOf('.'))}`) ?? []);
    const fitting = [...(chosen === undefined ? [] : [chosen]), ...(this.#byName.get(host) ?? []), ...wildcard];
    const ends = fitting
      .filter(({ notBeforeMs, notAfterMs }) => notBeforeMs <= nowMs && nowMs < notAfterMs)
      .map(({ notAfterMs }) => notAfterMs);
    return ends.length === 0 ? null : Math.max(...ends);
  }
}

/** Suffixes that no public CA issues for: RFC 6761, RFC 6762, RFC 7686, RFC 8375, and ICANN's "internal". */
const PRIVATE_SUFFIXES = ['localhost', 'local', 'internal', 'test', 'invalid', 'home.arpa', 'onion'];

/** Whether a public CA could issue a certificate for the name. Wildcards count by the name below them. */
export function isPublicName(host: string): boolean {
  const name = host.startsWith('*.') ? host.slice(2) : host;
  // Served, but forbidden in certificates (CA/Browser Forum, ballot SC12).
  if (name.includes('_')) return false;
  if (!name.includes('.') || isIP(name) !== 0 || hostNameProblem(host, 'allowed') !== null) return false;
  return !PRIVATE_SUFFIXES.some((suffix) => name === suffix || name.endsWith(`.${suffix}`));
}

/** Which names need a certificate is found out in slices: there may be 100,000. */
export const ACME_QUEUE = new SliceQueue();
