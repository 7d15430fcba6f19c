import { hostOf } from '../../kit/net/host-name.ts';
import { isPublicName } from '../../proxy/acme/names.ts';
import { type Check, type Finding, findingMaker } from './check.ts';
import type { CheckedAuthority, CheckedCertificate, CheckedEdge, CheckedManagedCertificate, Facts } from './facts.ts';

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

const DAY_MS = 86_400_000;
/** What expires earlier needs a successor. */
const SOON_MS = 30 * DAY_MS;

interface RemainingTime {
  readonly state: 'ended' | 'soon' | 'fine';
  /** `expired on 2026-01-31`, `expires on 2026-01-31 (12 days)`. */
  readonly words: string;
}

export function remainingTime(notAfterMs: number, nowMs: number): RemainingTime {
  const date = new Date(notAfterMs).toISOString().slice(0, 10);
  const days = Math.floor((notAfterMs - nowMs) / DAY_MS);
  if (notAfterMs <= nowMs) return { state: 'ended', words: `expired on ${date}` };
  return {
    state: notAfterMs - nowMs < SOON_MS ? 'soon' : 'fine',
    words: `expires on ${date} (${days} day${days === 1 ? '' : 's'})`,
  };
}

const found = findingMaker('certificates');

interface KnownNames {
  readonly hosts: ReadonlyMap<string, ReadonlySet<string>>;
  /** Names in certificates that are valid now. */
  readonly valid: ReadonlySet<string>;
  /** Names in certificates that do not expire soon. */
  readonly lasting: ReadonlySet<string>;
}

/** Uploaded certificates. The doctor's handshake check covers what hosts actually present. */
export const certificates = {
  name: 'certificates',
  nouns: ['edges', 'tls_certificates'],
  *run({
    edges,
    tls_certificates: all,
    nowMs,
  }: Pick<Facts, 'edges' | 'tls_certificates' | 'nowMs'>): Generator<Finding | null> {
    const known = {
      hosts: yield* hostsByName(edges),
      valid: yield* validNames(all, nowMs),
      lasting: yield* validNames(all, nowMs + SOON_MS),
    };
    for (const certificate of all) yield judge(certificate, known, nowMs);
  },
} satisfies Check;

function judge(certificate: CheckedCertificate, known: KnownNames, nowMs: number): Finding {
  const { id } = certificate;
  const { state, words } = remainingTime(Date.parse(certificate.not_after), nowMs);
  const names = namesOf(certificate);
  const shown = `${id} (${names.slice(0, 3).join(', ') || certificate.subject_common_name})`;
  const successor = 'upload its successor: postern api tls-certificates create';
  if (!names.some((name) => known.hosts.has(name)))
    return found.hint(`${shown} ${words}, and covers no host of any edge`, 'delete it if it is not needed', { id });
  if (state === 'fine') return found.ok(`${shown} ${words}`);
  const others = state === 'soon' ? known.lasting : known.valid;
  if (names.every((name) => isReplaced(name, known.hosts, others)))
    return found.hint(
      `${shown} ${words}, and other certificates have replaced it`,
      `delete it: postern api tls-certificates delete ${id}`,
      { id },
    );
  return found[state === 'soon' ? 'warning' : 'problem'](`${shown} ${words}`, successor, { id });
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

const LATE_MS = 24 * 60 * 60 * 1000;

const foundManaged = findingMaker('managed_certificates');

/** Certificates from ACME servers. */
export const managedCertificates: Check = {
  name: 'managed_certificates',
  nouns: ['managed_certificates'],
  *run({ managed_certificates: managed, nowMs }) {
    for (const certificate of managed) yield judgeManaged(certificate, nowMs);
  },
};

function judgeManaged(certificate: CheckedManagedCertificate, nowMs: number): Finding {
  const { id, hostname, status, not_after: end, renews_at: renewsAt, provisioning_job: job } = certificate;
  const failure = job === null || job.error_code === null ? null : `${job.msg} (${job.error_code})`;
  const next = (job?.retries_at ?? null) === null ? '' : `; the next attempt is at ${job?.retries_at}`;
  const advice = `remove the cause${next}`;
  if (status === 'issued' && end !== null) {
    const { words } = remainingTime(Date.parse(end), nowMs);
    if (failure !== null)
      return foundManaged.warning(`${hostname} ${words}, and its renewal failed: ${failure}`, advice, { id });
    if (renewsAt === null || Date.parse(renewsAt) + LATE_MS >= nowMs) return foundManaged.ok(`${hostname} ${words}`);
    return foundManaged.warning(
      `${hostname} ${words}, and was to be renewed at ${renewsAt}`,
      'check that a process with the edge role and acme on is running',
      { id },
    );
  }
  if (failure !== null)
    return foundManaged.problem(`${hostname} has no certificate that clients trust: ${failure}`, advice, { id });
  if (end !== null)
    return foundManaged.problem(
      `${hostname} has no certificate that clients trust: the last one ${remainingTime(Date.parse(end), nowMs).words}, and its renewal has not ended yet`,
      'check that the ACME server can be reached and answers; the log of the server has more',
      { id },
    );
  return foundManaged.hint(`${hostname} waits for its first certificate`, 'check again in a minute', { id });
}

const foundAuthority = findingMaker('authorities');

/** Authorities for client certificates: an expired one locks everybody out. */
export const authorities = {
  name: 'authorities',
  nouns: ['edges', 'certificate_authorities'],
  *run({
    edges,
    certificate_authorities: all,
    nowMs,
  }: Pick<Facts, 'edges' | 'certificate_authorities' | 'nowMs'>): Generator<Finding | null> {
    const used = yield* idsInUse(edges);
    for (const authority of all) yield judgeAuthority(authority, used.has(authority.id), nowMs);
    for (const authority of all) yield judgeList(authority, used.has(authority.id), nowMs);
  },
} satisfies Check;

function* idsInUse(edges: readonly CheckedEdge[]): Generator<null, ReadonlySet<string>> {
  const used = new Set<string>();
  for (const { clientAuthorities } of edges) {
    for (const id of clientAuthorities) used.add(id);
    yield null;
  }
  return used;
}

function judgeAuthority(
  { id, subject_common_name: name, not_after: end }: CheckedAuthority,
  isUsed: boolean,
  nowMs: number,
) {
  const { state, words } = remainingTime(Date.parse(end), nowMs);
  const line = `${id} (${name}) ${words}`;
  const advice =
    'create its successor, add it to certificate_authority_ids of its edges beside the old one, then issue new certificates to clients';
  if (state === 'fine') return foundAuthority.ok(line);
  if (state === 'soon') return foundAuthority.warning(line, advice, { id });
  if (isUsed) return foundAuthority.problem(`${line}: its clients are rejected`, advice, { id });
  const removal = `delete it: postern api certificate-authorities delete ${id}`;
  return foundAuthority.warning(`${line}, and no edge uses it`, removal, { id });
}

/** A list that is missing or stale lets revoked clients in (soft) or locks everybody out (hard). */
function judgeList(authority: CheckedAuthority, isUsed: boolean, nowMs: number): Finding | null {
  const { id, crl_mode: mode, crl_status: status, crl_next_update: next, crl_error: error } = authority;
  if (status === 'off') return null;
  const advice =
    authority.crl_url === ''
      ? `upload its current list: postern api certificate-authorities update ${id} --crl-pem @FILE`
      : `check that ${authority.crl_url} serves the current list`;
  const why = error === null ? '' : ` (${error})`;
  if (status !== 'current') {
    const line = `the revocation list of ${id} is ${status.replaceAll('_', ' ')}${why}`;
    return mode === 'hard' && isUsed
      ? foundAuthority.problem(`${line}: its clients are rejected`, advice, { id })
      : foundAuthority.warning(`${line}: its clients are not checked for revocation`, advice, { id });
  }
  if (error !== null)
    return foundAuthority.warning(`the revocation list of ${id} could not be renewed${why}`, advice, { id });
  if (authority.crl_url === '' && Date.parse(next ?? '') < nowMs + DAY_MS)
    return foundAuthority.warning(`the revocation list of ${id} becomes stale at ${next}`, advice, { id });
  return foundAuthority.ok(`the revocation list of ${id} is valid until ${next}`);
}

const MAX_SHOWN = 5;

const foundHost = findingMaker('managed_certificates');

/** Public names of edges that only the internal CA serves. */
export const untrustedHosts: Check = {
  name: 'managed_certificates',
  nouns: ['edges', 'tls_certificates', 'managed_certificates'],
  *run({ config, edges, tls_certificates: uploaded, managed_certificates: managed, nowMs }) {
    if (config.acme === 'on') return;
    const valid = yield* validNames(uploaded, nowMs);
    const names = new Set(managed.map(({ hostname }) => hostname));
    const hosts = new Set<string>();
    for (const edge of edges) {
      for (const host of hostsOfEdge(edge)) {
        const isServed = names.has(host) || valid.has(host) || valid.has(wildcardFor(host));
        if (!isServed && isPublicName(host)) hosts.add(host);
      }
      yield null;
    }
    if (hosts.size === 0) return;
    const more = hosts.size > MAX_SHOWN ? ` and ${hosts.size - MAX_SHOWN} more` : '';
    yield foundHost.warning(
      `browsers do not trust the certificates of ${[...hosts].slice(0, MAX_SHOWN).join(', ')}${more}: the internal CA issues them`,
      'set acme (POSTERN_ACME) to "on" to order public ones, or upload one: postern api tls-certificates create',
    );
  },
};
