import type { CommandForm } from '../../../../modules/agent-modules.ts';
import type { TunnelSpec } from '../../../../tunnel/agent/handle.ts';
import type { EndpointModules } from '../../../../tunnel/protocol/messages.ts';
import { moduleForms } from '../module-forms.ts';
import { addressOf, type Container, type Reach, SERVICE_LABELS, sharedNetwork } from './container.ts';
import { type ContainerLabels, readLabels } from './container-labels.ts';

export interface WantedTunnel {
  /** Stays the same while the container or service has the address or labels. */
  readonly key: string;
  readonly spec: Omit<TunnelSpec, 'addr'> & { readonly addr: readonly string[] };
}

export interface Rejection {
  /** Name of the container. */
  readonly container: string;
  readonly reason: string;
}

export interface Wanted {
  readonly tunnels: readonly WantedTunnel[];
  readonly rejections: readonly Rejection[];
  /** Which service has which host and label. */
  readonly holders: ReadonlyMap<string, string>;
}

export interface Circumstances {
  readonly allowed: Allowed & { readonly upstreamTls?: TunnelSpec['upstreamTls'] };
  readonly sharedLabels: ReadonlySet<string>;
  readonly reach: Reach;
  /** Tunnels of the agent's file. */
  readonly others: readonly Pick<TunnelSpec, 'domain' | 'labels'>[];
  /** Services that had a host or label a moment ago. */
  readonly held: ReadonlyMap<string, string>;
  readonly maxTunnels: number;
}

const FILE = 'the file of the agent';
const SERVICE_NAME = /^\w[\w.-]{0,127}$/;

/** A container whose labels, rights and address are right. */
interface Candidate {
  readonly container: Container;
  readonly service: string;
  readonly labels: ContainerLabels;
  readonly url: string;
  /** For its own address. */
  readonly modules: TunnelSpec['modules'];
}

/** The tunnels that containers ask for and may have, and why others get none. Depends on nothing but its arguments. */
export function wantedTunnels(containers: readonly Container[], around: Circumstances): Wanted {
  const rejections: Rejection[] = [];
  const reject = ({ name }: Container, reason: string): void => void rejections.push({ container: name, reason });
  const tunnels = new Map<string, WantedTunnel>();
  const holders = new Map<string, string>();
  const settings = new Map<string, string>();
  // The oldest first: a newer container cannot take what an older one has.
  const inTurn = [...containers].sort((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1));
  for (const container of inTurn) {
    const candidate = candidateOf(container, around);
    if ('reason' in candidate) {
      reject(container, candidate.reason);
      continue;
    }
    const claims = claimsOf(candidate, around.sharedLabels);
    const conflict = claims
      .map((claim) => conflictOf(claim, candidate.service, holders, around))
      .find((each) => each !== null);
    if (conflict !== undefined && conflict !== null) {
      reject(container, conflict);
      continue;
    }
    const mine = settingsOf(candidate);
    const before = candidate.labels.host === null ? undefined : settings.get(candidate.labels.host);
    if (before !== undefined && before !== mine) {
      reject(
        container,
        'its labels differ from those of an older container of its service: it gets requests when that one has ended',
      );
      continue;
    }
    for (const claim of claims) holders.set(claim, candidate.service);
    if (candidate.labels.host !== null) settings.set(candidate.labels.host, mine);
    if (!container.isReady) continue;
    for (const tunnel of tunnelsOf(candidate, around)) {
      const known = tunnels.get(tunnel.key);
      if (known === undefined && tunnels.size >= around.maxTunnels) {
        reject(container, `the agent has as many tunnels as it may have: start another agent for more`);
        break;
      }
      const addr = [...(known?.spec.addr ?? []), ...tunnel.spec.addr];
      tunnels.set(tunnel.key, known === undefined ? tunnel : { ...known, spec: { ...known.spec, addr } });
    }
  }
  return { tunnels: [...tunnels.values()], rejections, holders };
}

function candidateOf(container: Container, { allowed, reach }: Circumstances): Candidate | { readonly reason: string } {
  if (container.problem !== null) return { reason: container.problem };
  const labels = readLabels(container.labels);
  if ('reason' in labels) return labels;
  const modules = labels.host === null ? {} : narrowedModules(labels, allowed);
  if (isReason(modules)) return modules;
  const unclear = sharedNetwork(container);
  if (unclear !== null) return { reason: unclear };
  const port = portOfContainer(container, labels);
  if (typeof port !== 'number') return port;
  const address = addressOf(container, port, labels.network, reach);
  if ('reason' in address) return address;
  return { container, service: serviceOf(container), labels, modules, url: `${labels.scheme}://${address.hostport}` };
}

function isReason(value: object): value is { readonly reason: string } {
  return 'reason' in value && typeof value.reason === 'string';
}

function portOfContainer({ exposed }: Container, { port }: ContainerLabels): number | { readonly reason: string } {
  if (port !== null) return port;
  const [only, ...more] = exposed;
  if (only !== undefined && more.length === 0) return only;
  const why = only === undefined ? 'it exposes no port' : `it exposes the ports ${exposed.slice(0, 10).join(', ')}`;
  return { reason: `${why}: set postern.port` };
}

/** Replicas are containers of one service of Compose or Swarm. Any other container is a service of its own. */
function serviceOf({ name, labels }: Container): string {
  const named = (label: string): string => labels.get(label) ?? '';
  const [swarm, project, service] = SERVICE_LABELS.map(named) as [string, string, string];
  if (SERVICE_NAME.test(swarm)) return `swarm service ${swarm}`;
  const isCompose = SERVICE_NAME.test(project) && SERVICE_NAME.test(service);
  return isCompose ? `service ${project}/${service}` : `container ${name}`;
}

/** Names of which each belongs to one service. */
function claimsOf({ labels: { host, labels } }: Candidate, shared: ReadonlySet<string>): readonly string[] {
  const pairs = Object.entries(labels ?? {}).map(([name, value]) => `${name}=${value}`);
  return [
    ...(host === null ? [] : [`host ${host}`]),
    ...pairs.filter((pair) => !shared.has(pair)).map((pair) => `label ${pair}`),
  ];
}

function conflictOf(
  claim: string,
  service: string,
  holders: ReadonlyMap<string, string>,
  { others, held }: Circumstances,
): string | null {
  const holder = isOfFile(claim, others) ? FILE : (holderOf(claim, held) ?? holderOf(claim, holders));
  if (holder === null || holder === service) return null;
  const [kind = '', ...rest] = claim.split(' ');
  const advice = kind === 'host' ? 'use another host' : 'use another label, or list it in docker.shared_labels';
  return `${rest.join(' ')} belongs to ${holder}: ${advice}`;
}

function holderOf(claim: string, holders: ReadonlyMap<string, string>): string | null {
  const exact = holders.get(claim);
  if (exact !== undefined) return exact;
  if (!claim.startsWith('host ')) return null;
  for (const [other, holder] of holders) if (isSameHost(claim.slice(5), other)) return holder;
  return null;
}

/** `app` is below the domain of the server, which the agent does not know: it may be any `app.…`. */
function isSameHost(host: string, claim: string): boolean {
  if (!claim.startsWith('host ')) return false;
  const other = claim.slice(5);
  const [short, long] = host.length < other.length ? [host, other] : [other, host];
  return short === long || (!short.includes('.') && long.startsWith(`${short}.`));
}

function isOfFile(claim: string, others: Circumstances['others']): boolean {
  return others.some(({ domain, labels }) => {
    if (claim.startsWith('host ')) return domain !== undefined && isSameHost(domain.toLowerCase(), claim);
    return Object.entries(labels ?? {}).some(([name, value]) => claim === `label ${name}=${value}`);
  });
}

/** What all replicas of an address must have in common. */
function settingsOf({ modules, labels: { scheme } }: Candidate): string {
  return JSON.stringify([modules, scheme]);
}

function tunnelsOf(
  { container, labels, url, modules, service }: Candidate,
  { allowed }: Circumstances,
): readonly WantedTunnel[] {
  const { upstreamTls } = allowed;
  const common = { addr: [url], ...(upstreamTls !== undefined && { upstreamTls }) };
  const tunnels: WantedTunnel[] = [];
  if (labels.host !== null) {
    const name = service.replace(/^.* /, '');
    const own = modules !== undefined && Object.keys(modules).length > 0 ? { modules } : {};
    const spec = { name, proto: 'https', domain: labels.host, metadata: service, ...common, ...own } as const;
    tunnels.push({ key: `host ${labels.host}`, spec });
  }
  if (labels.labels !== null) {
    const spec = { name: container.name, labels: labels.labels, metadata: service, ...common };
    tunnels.push({ key: `labels ${container.id}`, spec });
  }
  return tunnels;
}

/** What the agent's file allows, as a tunnel requests it. */
export interface Allowed {
  /** Modules that every container has. */
  readonly modules: EndpointModules;
  /** Empty: no rule. */
  readonly allowGroups: readonly string[];
  readonly allowEmails: readonly string[];
  readonly allowPublic: boolean;
}

/** Forms of modules that make visitors log in. */
function logins(): readonly CommandForm[] {
  return moduleForms().filter(({ isLogin }) => isLogin === true);
}

/** The login without any field, which is at the identity host of the server. */
function loginAtIdentityHost(): EndpointModules {
  return Object.fromEntries(logins().flatMap(({ module, bare }) => (bare === undefined ? [] : [[module, {}]])));
}

type Asked = Pick<ContainerLabels, 'login' | 'allowGroups' | 'allowEmails'>;

/**
 * The modules of a container's address: those of the file, and what the labels add. Labels let in fewer people than the
 * file, or the same, or they are rejected.
 */
function narrowedModules(
  { login, allowGroups, allowEmails }: Asked,
  { modules, allowGroups: groups, allowEmails: emails, allowPublic }: Allowed,
): EndpointModules | { readonly reason: string } {
  const hasLists = groups.length + emails.length > 0;
  const isLoginGiven = hasLists || logins().some(({ module }) => modules[module] !== undefined);
  if (login === false && isLoginGiven) {
    return { reason: 'postern.login=false is rejected: docker.defaults of the agent require a login' };
  }
  const isNarrowed = allowGroups !== null || allowEmails !== null;
  if (hasLists && isNarrowed) {
    const more = [
      ...(allowGroups ?? []).filter((group) => !groups.includes(group)),
      ...(allowEmails ?? []).filter((email) => !emails.some((each) => each.toLowerCase() === email)),
    ];
    if (more.length > 0) {
      const list = more
        .slice(0, 5)
        .map((each) => JSON.stringify(each))
        .join(', ');
      return { reason: `the labels let in ${list}, whom docker.defaults of the agent do not let in` };
    }
  }
  const hasLogin = isLoginGiven || login === true || isNarrowed;
  if (!hasLogin && !allowPublic) {
    return {
      reason:
        'it would be public: set postern.login=true, or let the operator of the agent set docker.defaults.allow_public',
    };
  }
  const access = {
    ...listField('allow_groups', isNarrowed ? (allowGroups ?? []) : groups),
    ...listField('allow_emails', isNarrowed ? (allowEmails ?? []) : emails),
  };
  const needsLogin = hasLogin && logins().every(({ module }) => modules[module] === undefined);
  return {
    ...modules,
    ...(needsLogin && loginAtIdentityHost()),
    ...(Object.keys(access).length > 0 && { access }),
  };
}

function listField(name: string, items: readonly string[]): Readonly<Record<string, readonly string[]>> {
  return items.length === 0 ? {} : { [name]: [...items] };
}
