import { canonicalJson, type JsonObject, type JsonValue } from '../../kit/json.ts';
import { hostOf, publicPorts } from '../../kit/net/host-name.ts';
import type { Setting } from '../generated/settings.ts';
import { SITE_EDGE, type SiteEdge, type SiteRoute, siteEdgePath } from '../sites.ts';
import {
  GUARDS,
  isProtected,
  issuerOf,
  LOGIN_MODULE,
  loginBody,
  loginChange,
  loginObstacle,
  loginText,
  PASSWORD_MODULE,
} from './edge-login.ts';
import { changedRules, isCovered, peopleText, ruleOf } from './people-rules.ts';
import {
  ADDRESS_MODULE,
  addressChange,
  type CurrentAddresses,
  createBackend,
  createPolicy,
  type EdgeOperation,
  existingBackend,
  HEADER_MODULE,
  hidesHeaders,
  hostHeaderOf,
  type KnownBackends,
  targetText,
  withHostHeader,
  withPasswords,
} from './plan-parts.ts';
import type { WantedEdge, WantedGuests } from './wanted-edge.ts';

export interface Current extends KnownBackends {
  readonly edges: readonly SiteEdge[];
  /** Absent: the command names no addresses. */
  readonly addresses?: CurrentAddresses;
}

/**
 * How `postern up` differs from `postern edge`: it changes rules that are there to what its flags say, it removes a
 * login when asked, and it does not open a host that a wildcard protects.
 */
interface ChangeRules {
  readonly removesLogin: boolean;
}

/** The difference between what is wanted and what is there. */
export interface EdgePlan {
  readonly operations: readonly EdgeOperation[];
  /** One line each: `+` made, `~` changed, `-` removed, `=` there already. */
  readonly lines: readonly string[];
  /** What was found but not touched. */
  readonly notes: readonly string[];
  /** Why it cannot be done; nothing is sent then. */
  readonly obstacle: string | null;
  readonly edge: SiteEdge | null;
  readonly route: SiteRoute | null;
}

export function planEdge(wanted: WantedEdge, current: Current, changing: ChangeRules | null = null): EdgePlan {
  const plan = new PlanBuilder(wanted, current, changing);
  const obstacle = plan.obstacle();
  if (obstacle === null) {
    plan.planBackend();
    plan.planEdge();
    plan.planRoute();
  }
  const { operations, lines, notes, edge, route } = plan;
  return { operations, lines, notes, obstacle, edge, route };
}

class PlanBuilder {
  readonly operations: EdgeOperation[] = [];
  readonly lines: string[] = [];
  readonly notes: string[] = [];
  readonly edge: SiteEdge | null;
  readonly route: SiteRoute | null;
  readonly #wanted: WantedEdge;
  readonly #current: Current;
  readonly #changing: ChangeRules | null;
  /** The edge of a wildcard that serves the host now; null: none, or the host has its own edge. */
  readonly #above: SiteEdge | null;
  /** An id, or a reference to the operation that makes it. */
  #backendId: JsonValue = '';
  /** Number of the operation that makes the edge. */
  #edgeAt = 0;
  #edgePath = '';

  constructor(wanted: WantedEdge, current: Current, changing: ChangeRules | null) {
    const { edges } = current;
    this.#wanted = wanted;
    this.#current = current;
    this.#changing = changing;
    const edgeOf = (host: string): SiteEdge | null =>
      edges.find(({ hostports }) => hostports.some((each) => hostOf(each) === host)) ?? null;
    this.edge = edgeOf(wanted.host);
    this.#above = this.edge === null ? edgeOf(`*${wanted.host.slice(wanted.host.indexOf('.'))}`) : null;
    this.route = this.edge?.routes.find(({ match }) => match === wanted.path) ?? null;
  }

  obstacle(): string | null {
    const { host, port, path, login } = this.#wanted;
    const { route } = this;
    const people = peopleText(this.#wanted);
    const own = this.edge?.hostports.find((each) => hostOf(each) === host);
    const command = `postern api https-edges update ${host} --hostports`;
    if (own !== undefined && port !== null && own !== `${host}:${port}`) {
      return `${host} belongs to an edge already, as ${own}. Change the port with: ${command} ${host}:${port}`;
    }
    if (route !== null && route.match_type !== 'path_prefix') {
      return `${host}${path} is a route for exactly this path. Change it with: postern api routes update ${host}${path} --match-type path_prefix`;
    }
    const place = `${host}${path}`;
    const ofLogin = loginObstacle(login, route, { place, needsLogin: people !== null });
    if (ofLogin !== null) return ofLogin;
    const rules = route?.access ?? null;
    const isFitting =
      rules === null ||
      (this.#changing === null ? isCovered(rules, this.#wanted) : changedRules(rules, this.#wanted) !== null);
    if (people !== null && !isFitting) {
      return `${place} has access rules already, which this command does not change. Change them with: postern api access replace ${place}`;
    }
    return this.#moduleObstacle(place) ?? this.#opening();
  }

  /** Why the addresses or the Host header cannot be set. */
  #moduleObstacle(place: string): string | null {
    const { hostHeader } = this.#wanted;
    const change = this.#addressChange();
    if (change?.kind === 'other' || (change?.kind === 'changed' && this.#changing === null)) {
      return `${place} has address rules already, which this command does not change. Change them with: postern api ip-restriction replace ${place}`;
    }
    if (hostHeader === undefined) return null;
    if (hidesHeaders(this.route)) {
      return `${place} has headers with credentials that this key may not read, so it cannot keep them. Use a key that may read secrets`;
    }
    if (this.route?.[HEADER_MODULE]?.enabled === false) {
      return `${place} has request headers that are switched off. Change them with: postern api request-headers replace ${place}`;
    }
    if (this.#hostHeader() === undefined) {
      return '--host-header rewrite needs a target with one address. Name the host instead: --host-header app.internal';
    }
    return null;
  }

  #addressChange(): ReturnType<typeof addressChange> | null {
    const { addresses = [] } = this.#wanted;
    if (this.route === null || addresses.length === 0) return null;
    const { edges, addresses: current = { rules: [], withLists: [] } } = this.#current;
    return addressChange(this.route, addresses, { edges, current });
  }

  #hostHeader(): string | null | undefined {
    const { hostHeader = 'preserve', target } = this.#wanted;
    return hostHeaderOf(hostHeader, target, this.#current.backends);
  }

  /** An edge of its own takes a host away from the wildcard above it, with the login there. */
  #opening(): string | null {
    if (this.#changing === null || this.#changing.removesLogin || this.#wanted.login !== null) return null;
    if (this.#above === null || !isProtected(this.#above)) return null;
    const { host } = this.#wanted;
    return `${this.#above.hostports.join(', ')} serves ${host} with a login or other rules, which an edge for ${host} alone would not have: add --login, or --no-login to open it`;
  }

  planBackend(): void {
    const { target, host, path } = this.#wanted;
    const found = existingBackend(target, this.#current);
    if (found !== null || target.kind === 'backend') {
      this.#backendId = found;
      if (target.kind !== 'backend') this.lines.push(`= backend ${targetText(target)} (${found})`);
      return;
    }
    this.#backendId = { $ref: this.operations.length, field: 'id' };
    this.lines.push(`+ backend ${targetText(target)}`);
    this.operations.push(createBackend(target, `${host}${path}`));
  }

  planEdge(): void {
    const { host, port, listenerPort } = this.#wanted;
    if (this.edge !== null) {
      this.#edgePath = siteEdgePath(this.edge.id);
      this.lines.push(`= edge ${this.edge.hostports.join(', ')} (${this.edge.id})`);
      return;
    }
    const hostport = `${host}:${port ?? listenerPort}`;
    this.#edgeAt = this.operations.length;
    this.#edgePath = siteEdgePath(`\${${this.#edgeAt}.id}`);
    this.lines.push(`+ edge ${hostport}`);
    this.operations.push({ method: 'POST', path: SITE_EDGE.path, body: { hostports: [hostport] } });
  }

  planRoute(): void {
    const { host, path } = this.#wanted;
    const place = `${host}${path}`;
    const people = peopleText(this.#wanted);
    if (this.route === null) {
      this.#createRoute(place, people);
      return;
    }
    const routePath = `${this.#edgePath}/routes/${this.route.id}`;
    this.lines.push(`= route ${place} (${this.route.id})`);
    this.#planForward(this.route, routePath);
    // Before the passwords: a route has one login.
    if (this.#changing?.removesLogin === true) this.#planRemoval(this.route, routePath);
    this.#planPasswords(this.route, routePath);
    this.#planAddresses(this.route, routePath);
    this.#planHostHeader(this.route, routePath);
    if (this.#changing?.removesLogin === true) return;
    this.#planLogin(this.route, routePath);
    this.#planRules(this.route, `${routePath}/access`);
  }

  #createRoute(place: string, people: string | null): void {
    const { path, login, addresses = [], passwords = [], guests } = this.#wanted;
    this.lines.push(`+ route ${place}`);
    if (login !== null) this.lines.push(`+ login at ${login.issuer}`);
    if (people !== null) this.lines.push(`+ access for ${people}`);
    if (passwords.length > 0) this.lines.push(`+ passwords of ${passwords.map(({ username }) => username).join(', ')}`);
    const allow = [
      ...(people === null ? [] : [ruleOf(this.#wanted)]),
      ...(guests === undefined ? [] : [{ guests: true }]),
    ];
    const policy = { $ref: this.operations.length, field: 'id' };
    if (addresses.length > 0) {
      this.lines.push(`+ access from ${addresses.join(', ')}`);
      this.operations.push(...createPolicy(addresses, place, this.operations.length));
    }
    const headers = this.#wanted.hostHeader === undefined ? null : withHostHeader(null, this.#hostHeader() ?? null);
    if (headers !== null) this.lines.push(`+ Host header ${this.#hostHeader()}`);
    const body = {
      match_type: 'path_prefix',
      match: path,
      backend: { backend_id: this.#backendId },
      ...(login !== null && { [LOGIN_MODULE]: loginBody(login, null) }),
      ...(allow.length > 0 && { access: { allow } }),
      ...(addresses.length > 0 && { [ADDRESS_MODULE]: { ip_policy_ids: [policy] } }),
      ...(passwords.length > 0 && { [PASSWORD_MODULE]: { users: passwords.map((each) => ({ ...each })) } }),
      ...(headers !== null && { [HEADER_MODULE]: headers }),
    };
    this.operations.push({ method: 'POST', path: `${this.#edgePath}/routes`, body });
    if (guests !== undefined) this.#createGuestLink(guests);
  }

  #createGuestLink({ label, expiresAt, maxBrowsers }: WantedGuests): void {
    const route_id = { $ref: this.operations.length - 1, field: 'id' };
    const edge_id = this.edge?.id ?? { $ref: this.#edgeAt, field: 'id' };
    const body = { edge_id, route_id, label, expires_at: expiresAt, max_browsers: maxBrowsers };
    this.lines.push(`+ guest link until ${expiresAt}`);
    this.operations.push({ method: 'POST', path: '/guest_links', body: { ...body, host: this.#wanted.host } });
  }

  /** A stored password is a hash: whether it is the wanted one, only the server can find out. */
  #planPasswords(route: SiteRoute, path: string): void {
    const { passwords = [] } = this.#wanted;
    if (passwords.length === 0) return;
    const module = route[PASSWORD_MODULE];
    for (const { username } of passwords) {
      const isThere = module?.enabled === true && module.users.some((user) => user.username === username);
      this.lines.push(`${isThere ? '~' : '+'} password of ${username}`);
    }
    const body = withPasswords(route, passwords);
    this.operations.push({ method: 'PUT', path: `${path}/${PASSWORD_MODULE}`, body });
  }

  #planAddresses(route: SiteRoute, path: string): void {
    const change = this.#addressChange();
    const { addresses = [], host } = this.#wanted;
    if (change === null) return;
    const sign = { new: '+', changed: '~', same: '=', other: '=' }[change.kind];
    this.lines.push(`${sign} access from ${addresses.join(', ')}`);
    if (change.kind === 'changed') this.operations.push(...change.operations);
    if (change.kind !== 'new') return;
    const policy = { $ref: this.operations.length, field: 'id' };
    this.operations.push(...createPolicy(addresses, `${host}${route.match}`, this.operations.length));
    const body = { ip_policy_ids: [policy] };
    this.operations.push({ method: 'PUT', path: `${path}/${ADDRESS_MODULE}`, body });
  }

  #planHostHeader(route: SiteRoute, path: string): void {
    if (this.#wanted.hostHeader === undefined) return;
    const module = route[HEADER_MODULE];
    const former = module?.enabled === true ? (module.add['host'] ?? null) : null;
    const host = this.#hostHeader() ?? null;
    if (former === host) {
      if (host !== null) this.lines.push(`= Host header ${host}`);
      return;
    }
    this.lines.push(host === null ? `- Host header ${former}` : `${former === null ? '+' : '~'} Host header ${host}`);
    const body = withHostHeader(route, host);
    const place = `${path}/${HEADER_MODULE}`;
    this.operations.push(body === null ? { method: 'DELETE', path: place } : { method: 'PUT', path: place, body });
  }

  #planRules({ access }: SiteRoute, path: string): void {
    const people = peopleText(this.#wanted);
    if (people === null) {
      if (access !== null && this.#changing !== null) this.lines.push('= access rules');
      return;
    }
    const body = access === null ? { allow: [ruleOf(this.#wanted)] } : changedRules(access, this.#wanted);
    const isSame =
      access !== null &&
      (this.#changing === null || canonicalJson(body) === canonicalJson(access as unknown as JsonObject));
    this.lines.push(`${access === null ? '+' : isSame ? '=' : '~'} access for ${people}`);
    if (!isSame && body !== null) this.operations.push({ method: 'PUT', path, body });
  }

  /** Everybody may enter afterwards, unless modules of another kind say otherwise. */
  #planRemoval(route: SiteRoute, path: string): void {
    for (const [name, what] of GUARDS) {
      if (route[name] === null) continue;
      this.lines.push(`- ${what} (${name})`);
      this.operations.push({ method: 'DELETE', path: `${path}/${name}` });
    }
  }

  #planForward({ backend }: SiteRoute, path: string): void {
    const former = backend?.enabled === true ? backend.backend.id : null;
    if (former === this.#backendId) return;
    this.lines.push(
      `${former === null ? '+' : '~'} ${this.#wanted.host}${this.#wanted.path} forwards to ${targetText(this.#wanted.target)}`,
    );
    this.operations.push({ method: 'PUT', path: `${path}/backend`, body: { backend_id: this.#backendId } });
    // What postern up made goes with postern down.
    if (former !== null && this.#changing === null)
      this.notes.push(`the former backend ${former} stays: delete it when nothing uses it`);
  }

  #planLogin(route: SiteRoute, path: string): void {
    const { login, host, path: match } = this.#wanted;
    const issuer = issuerOf(route);
    if (login === null) {
      if (this.#changing !== null) {
        const text = loginText(route);
        if (text !== null) this.lines.push(`= ${text}`);
      } else if (issuer !== null) {
        this.notes.push(`the login at ${issuer} stays: postern api ${LOGIN_MODULE} delete ${host}${match} removes it`);
      }
      return;
    }
    const { sign, body } = loginChange(login, route);
    this.lines.push(`${sign} login at ${login.issuer}`);
    if (sign !== '=') this.operations.push({ method: 'PUT', path: `${path}/${LOGIN_MODULE}`, body });
  }
}

/** The address that visitors open. */
export function edgeUrl(
  { host, port, listenerPort, path }: Pick<WantedEdge, 'host' | 'port' | 'listenerPort' | 'path'>,
  { edge }: Pick<EdgePlan, 'edge'>,
): string {
  const hostport =
    edge?.hostports.find((each) => each.replace(/:\d+$/, '') === host) ?? `${host}:${port ?? listenerPort}`;
  // Any name that the wildcard matches.
  return `https://${hostport.replace(/:443$/, '').replace(/^\*/, 'anything')}${path}`;
}

/** Where a login provider sends people back to. */
export function redirectUri(url: string): string {
  return `${new URL(url).origin}/.postern/callback`;
}

/** The port at which visitors reach the server: 443 if they can use it, or if nobody can say. */
export function listenerPort(settings: readonly Pick<Setting, 'name' | 'value'>[]): number {
  const portsIn = (name: string): readonly number[] => {
    const value = settings.find((each) => each.name === name)?.value ?? [];
    const items = (Array.isArray(value) ? value : [value]) as readonly unknown[];
    return items.map((item) => Number(/(\d+)$/.exec(String(item))?.[1] ?? 0));
  };
  const [first = 0] = publicPorts({ listening: portsIn('edge_listen'), mapped: portsIn('edge_host_ports') });
  return first;
}
