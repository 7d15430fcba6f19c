import { type Finding, findingTable } from '../../../kit/findings.ts';
import { hostOf } from '../../../kit/net/host-name.ts';
import type { StoredRecord } from '../../../store/store.ts';
import type { AlertFacts, AlertKind, Sighting } from '../alert-kind.ts';
import type { CheckedCertificate, CheckedEdge, Facts } from '../facts.ts';
import type { Check, Subject } from '../subject.ts';

const DAY_MS = 86_400_000;
/** Checks and `postern status` ask this early for a successor. When an alert is raised is a setting. */
export const EXPIRES_SOON_DAYS = 30;

type ExpiryState = 'ended' | 'soon' | 'fine';

/** For everything that warns of the end of a certificate. A time that cannot be read counts as past. */
function expiryState(notAfterMs: number, nowMs: number, soonDays: number): ExpiryState {
  const leftMs = notAfterMs - nowMs;
  if (leftMs > soonDays * DAY_MS) return 'fine';
  return leftMs > 0 ? 'soon' : 'ended';
}

export interface RemainingTime {
  readonly state: ExpiryState;
  /** Negative when it has ended. */
  readonly days: number;
  /** `expired on 2026-01-31`, `expires on 2026-01-31 (12 days)`. */
  readonly words: string;
}

/** The time that is left to a certificate. */
export function remainingTime(notAfterMs: number, nowMs: number): RemainingTime {
  const state = expiryState(notAfterMs, nowMs, EXPIRES_SOON_DAYS);
  const date = new Date(notAfterMs).toISOString().slice(0, 10);
  const days = Math.floor((notAfterMs - nowMs) / DAY_MS);
  const words = state === 'ended' ? `expired on ${date}` : `expires on ${date} (${days} day${days === 1 ? '' : 's'})`;
  return { state, days, words };
}

/** Hosts of all edges by the names that cover them: the host itself, and the wildcard for its first label. */
function* hostsByName(edges: readonly CheckedEdge[]): Generator<null, ReadonlyMap<string, ReadonlySet<string>>> {
  const byName = new Map<string, Set<string>>();
  for (const edge of edges) {
    for (const host of hostsOfEdge(edge)) {
      for (const name of [host, wildcardFor(host)]) {
        const hosts = byName.get(name);
        if (hosts === undefined) byName.set(name, new Set([host]));
        else hosts.add(host);
      }
    }
    yield null;
  }
  return byName;
}

/** Hosts of all edges, without duplicates and ports. */
export function hostsOf(edges: readonly Pick<CheckedEdge, 'hostports'>[]): readonly string[] {
  return [...new Set(edges.flatMap(hostsOfEdge))];
}

export function hostsOfEdge({ hostports }: Pick<CheckedEdge, 'hostports'>): readonly string[] {
  return hostports.map(hostOf);
}

/** A wildcard covers one label, on either side. */
export function wildcardFor(host: string): string {
  return host.replace(/^[^.]+/, '*');
}

function namesOf({ subject_alternative_names: names }: CheckedCertificate): readonly string[] {
  return names.dns_names.map((name) => name.toLowerCase());
}

interface Told {
  readonly id: string;
  /** The id and some names. */
  readonly name: string;
  /** When the certificate expires. */
  readonly words: string;
}

const UPLOAD = 'upload its successor: postern api tls-certificates create';

const { kinds, found, ok } = findingTable('certificates', {
  certificate_unused: {
    level: 'hint',
    text: ({ name, words }: Told) => `${name} ${words}, and covers no host of any edge`,
    advice: 'delete it if it is not needed',
  },
  certificate_replaced: {
    level: 'hint',
    text: ({ name, words }: Told) => `${name} ${words}, and other certificates have replaced it`,
    advice: ({ id }: Told) => `delete it: postern api tls-certificates delete ${id}`,
  },
  certificate_expiring: {
    level: 'warning',
    text: ({ name, words }: Told) => `${name} ${words}`,
    advice: UPLOAD,
  },
  certificate_expired: {
    level: 'problem',
    text: ({ name, words }: Told) => `${name} ${words}`,
    advice: UPLOAD,
  },
});

interface KnownNames {
  readonly hosts: ReadonlyMap<string, ReadonlySet<string>>;
  /** Names in certificates that are valid now. */
  readonly valid: ReadonlySet<string>;
  /** Names in certificates that do not expire soon. */
  readonly lasting: ReadonlySet<string>;
}

/** Uploaded certificates. The doctor's handshake check covers what hosts actually present. */
export const certificatesCheck = {
  name: 'certificates',
  nouns: ['edges', 'tls_certificates'],
  kinds,
  *run({
    edges,
    tls_certificates: all,
    nowMs,
  }: Pick<Facts, 'edges' | 'tls_certificates' | 'nowMs'>): Generator<Finding | null> {
    const known = {
      hosts: yield* hostsByName(edges),
      valid: yield* validNames(all, nowMs),
      lasting: yield* validNames(all, nowMs + EXPIRES_SOON_DAYS * DAY_MS),
    };
    for (const certificate of all) yield judge(certificate, known, nowMs);
  },
} satisfies Check;

function judge(certificate: CheckedCertificate, known: KnownNames, nowMs: number): Finding {
  const { id } = certificate;
  const { state, words } = remainingTime(Date.parse(certificate.not_after), nowMs);
  const names = namesOf(certificate);
  const name = `${id} (${names.slice(0, 3).join(', ') || certificate.subject_common_name})`;
  const told = { id, name, words };
  if (!names.some((each) => known.hosts.has(each))) return found('certificate_unused', told, { id });
  if (state === 'fine') return ok(`${name} ${words}`);
  const others = state === 'soon' ? known.lasting : known.valid;
  if (names.every((each) => isReplaced(each, known.hosts, others))) return found('certificate_replaced', told, { id });
  return found(state === 'soon' ? 'certificate_expiring' : 'certificate_expired', told, { id });
}

/** Whether other certificates cover every host that the name covers. */
function isReplaced(name: string, hosts: KnownNames['hosts'], others: ReadonlySet<string>): boolean {
  if (others.has(name)) return true;
  return (hosts.get(name) ?? new Set<string>())
    .values()
    .every((host) => others.has(host) || others.has(wildcardFor(host)));
}

/** Names in certificates that are valid at this time. */
export function* validNames(all: readonly CheckedCertificate[], atMs: number): Generator<null, ReadonlySet<string>> {
  const valid = new Set<string>();
  for (const certificate of all) {
    if (Date.parse(certificate.not_after) > atMs) for (const name of namesOf(certificate)) valid.add(name);
    yield null;
  }
  return valid;
}

/** A certificate that expires soon or has expired, uploaded or from an ACME server. */
const certificateExpiring: AlertKind = {
  code: 'certificate_expiring',
  advice: 'upload a new certificate, or see why it is not renewed: postern doctor',
  sight: 'installation',
  raiseAfterMs: () => 0,
  resolveAfterMs: 0,
  isOn: ({ certificateDays }) => certificateDays > 0,
  createLook: () => (facts) => [
    ...expiring(facts, 'tls_certificate', ({ id, doc }) => `${textOf(doc['description'])}${id}`),
    ...expiring(facts, 'managed_certificate', ({ doc }) => `for ${doc['hostname'] as string}`),
  ],
};

function expiring(facts: AlertFacts, kind: string, nameOf: (record: StoredRecord) => string): readonly Sighting[] {
  const sightings: Sighting[] = [];
  for (const record of facts.records(kind)) {
    const { not_after: notAfter, unwanted_since: unwanted = null } = record.doc;
    if (typeof notAfter !== 'string' || unwanted !== null) continue;
    const state = expiryState(Date.parse(notAfter), facts.nowMs, facts.limits.certificateDays);
    if (state === 'fine') continue;
    const verb = state === 'soon' ? 'expires' : 'expired';
    const title = `the certificate ${nameOf(record)} ${verb} at ${notAfter}`;
    sightings.push({ subject: record.id, state: 'bad', title });
  }
  return sightings;
}

function textOf(description: unknown): string {
  return typeof description === 'string' && description !== '' ? `"${description}" ` : '';
}

export const certificates: Subject = { checks: [certificatesCheck], alerts: [certificateExpiring] };
