import type { AccessModule } from '../../client/generated/access-module.ts';
import type { HttpsEdgeRoute } from '../../client/generated/https-edge-routes.ts';
import type { HttpsEdge } from '../../client/generated/https-edges.ts';
import type { StaticBackend } from '../../client/generated/static-backends.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { issuerOf, LOGIN_MODULE, loginBody, loginChange, loginObstacle } from './edge-login.ts';
import type { WantedEdge } from './wanted-edge.ts';

export interface Current {
  readonly edges: readonly HttpsEdge[];
  readonly backends: readonly StaticBackend[];
}

export interface EdgeOperation {
  readonly method: 'POST' | 'PUT' | 'PATCH';
  readonly path: string;
  readonly body: JsonObject;
}

/** The difference between what is wanted and what is there. */
export interface EdgePlan {
  readonly operations: readonly EdgeOperation[];
  /** One line each: `+` made, `~` changed, `=` there already. */
  readonly lines: readonly string[];
  /** What was found but not touched. */
  readonly notes: readonly string[];
  /** Why it cannot be done; nothing is sent then. */
  readonly obstacle: string | null;
  readonly edge: HttpsEdge | null;
  readonly route: HttpsEdgeRoute | null;
}

const DEFAULT_PORT = 443;

export function planEdge(wanted: WantedEdge, { edges, backends }: Current): EdgePlan {
  const plan = new PlanBuilder(wanted, edges);
  const obstacle = plan.obstacle();
  if (obstacle === null) {
    plan.planBackend(backends);
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
  readonly edge: HttpsEdge | null;
  readonly route: HttpsEdgeRoute | null;
  readonly #wanted: WantedEdge;
  /** An id, or a reference to the operation that makes it. */
  #backendId: JsonValue = '';
  #edgePath = '';

  constructor(wanted: WantedEdge, edges: readonly HttpsEdge[]) {
    this.#wanted = wanted;
    this.edge = edges.find(({ hostports }) => hostports.some((each) => hostOf(each) === wanted.host)) ?? null;
    this.route = this.edge?.routes.find(({ match }) => match === wanted.path) ?? null;
  }

  obstacle(): string | null {
    const { host, port, path, login } = this.#wanted;
    const { route } = this;
    const people = peopleIn(this.#wanted);
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
    if (people !== null && rules !== null && !isCovered(rules, this.#wanted)) {
      return `${host}${path} has access rules already, which this command does not change. Change them with: postern api access replace ${host}${path}`;
    }
    return null;
  }

  planBackend(backends: readonly StaticBackend[]): void {
    const { target, host, path } = this.#wanted;
    if (target.kind === 'backend') {
      this.#backendId = target.id;
      return;
    }
    const found = backends.find(({ address, tls }) => address === target.address && tls.enabled === target.hasTls);
    if (found !== undefined) {
      this.#backendId = found.id;
      this.lines.push(`= backend ${targetText(this.#wanted)} (${found.id})`);
      return;
    }
    this.#backendId = { $ref: this.operations.length, field: 'id' };
    const { address, hasTls } = target;
    this.lines.push(`+ backend ${targetText(this.#wanted)}`);
    const description = `${host}${path}`.slice(0, 255);
    const body = { address, description, ...(hasTls && { tls: { enabled: true } }) };
    this.operations.push({ method: 'POST', path: '/backends/static', body });
  }

  planEdge(): void {
    const { host, port } = this.#wanted;
    if (this.edge !== null) {
      this.#edgePath = `/edges/https/${this.edge.id}`;
      this.lines.push(`= edge ${this.edge.hostports.join(', ')} (${this.edge.id})`);
      return;
    }
    const hostport = `${host}:${port ?? DEFAULT_PORT}`;
    this.#edgePath = `/edges/https/\${${this.operations.length}.id}`;
    this.lines.push(`+ edge ${hostport}`);
    this.operations.push({ method: 'POST', path: '/edges/https', body: { hostports: [hostport] } });
  }

  planRoute(): void {
    const { host, path, login } = this.#wanted;
    const place = `${host}${path}`;
    const people = peopleIn(this.#wanted);
    const access = { allow: [ruleOf(this.#wanted)] };
    if (this.route === null) {
      this.lines.push(`+ route ${place}`);
      if (login !== null) this.lines.push(`+ login at ${login.issuer}`);
      if (people !== null) this.lines.push(`+ access for ${people}`);
      const body = {
        match_type: 'path_prefix',
        match: path,
        backend: { backend_id: this.#backendId },
        ...(login !== null && { [LOGIN_MODULE]: loginBody(login, null) }),
        ...(people !== null && { access }),
      };
      this.operations.push({ method: 'POST', path: `${this.#edgePath}/routes`, body });
      return;
    }
    const routePath = `${this.#edgePath}/routes/${this.route.id}`;
    this.lines.push(`= route ${place} (${this.route.id})`);
    this.#planForward(this.route, routePath);
    this.#planLogin(this.route, routePath);
    if (people === null) return;
    const isThere = this.route.access !== null;
    this.lines.push(`${isThere ? '=' : '+'} access for ${people}`);
    if (!isThere) this.operations.push({ method: 'PUT', path: `${routePath}/access`, body: access });
  }

  #planForward({ backend }: HttpsEdgeRoute, path: string): void {
    const former = backend?.enabled === true ? backend.backend.id : null;
    if (former === this.#backendId) return;
    this.lines.push(
      `${former === null ? '+' : '~'} ${this.#wanted.host}${this.#wanted.path} forwards to ${targetText(this.#wanted)}`,
    );
    this.operations.push({ method: 'PUT', path: `${path}/backend`, body: { backend_id: this.#backendId } });
    if (former !== null) this.notes.push(`the former backend ${former} stays: delete it when nothing uses it`);
  }

  #planLogin(route: HttpsEdgeRoute, path: string): void {
    const { login, host, path: match } = this.#wanted;
    const issuer = issuerOf(route);
    if (login === null) {
      if (issuer !== null) {
        this.notes.push(`the login at ${issuer} stays: postern api ${LOGIN_MODULE} delete ${host}${match} removes it`);
      }
      return;
    }
    const { sign, body } = loginChange(login, route);
    this.lines.push(`${sign} login at ${login.issuer}`);
    if (sign !== '=') this.operations.push({ method: 'PUT', path: `${path}/${LOGIN_MODULE}`, body });
  }
}

/** People whom the rules of the command line name; null: there are none. */
function peopleIn({ emailDomains, groups }: WantedEdge): string | null {
  const named = [...emailDomains, ...groups.map((group) => `group ${group}`)];
  return named.length === 0 ? null : named.join(', ');
}

/** Both at once: each flag says "only". */
function ruleOf({ emailDomains, groups }: WantedEdge): JsonObject {
  return {
    ...(emailDomains.length > 0 && { email_domains: [...emailDomains] }),
    ...(groups.length > 0 && { claims: { groups: [...groups] } }),
  };
}

function isCovered({ allow }: AccessModule, { emailDomains, groups }: WantedEdge): boolean {
  const domains = allow.flatMap((rule) => rule.email_domains ?? []);
  const allowed = allow.flatMap((rule) => rule.claims?.['groups'] ?? []);
  return emailDomains.every((domain) => domains.includes(domain)) && groups.every((group) => allowed.includes(group));
}

function targetText({ target }: WantedEdge): string {
  if (target.kind === 'backend') return target.id;
  return target.hasTls ? `https://${target.address}` : target.address;
}

function hostOf(hostport: string): string {
  return hostport.replace(/:\d+$/, '');
}
