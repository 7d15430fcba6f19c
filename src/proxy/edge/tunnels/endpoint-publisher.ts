import { TUNNEL_BACKEND_KIND } from '../../../backends/backend.ts';
import type { EdgeKind } from '../../../edges/edge-kind.ts';
import { edgeKinds } from '../../../edges/registry.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { withParts } from '../../../kit/load-part.ts';
import { FIELD_RULES } from '../../../kit/net/field-rules.ts';
import { formatListenAddress, isWildcardHost, type PortRange } from '../../../kit/net/listen-address.ts';
import { createDecoder } from '../../../kit/schema/decode-body.ts';
import { type FieldProblem, fieldName } from '../../../kit/schema/field-problem.ts';
import { type AgentModule, agentModules, summaryOf } from '../../../modules/agent-modules.ts';
import type { AcceptedForm, AgentField } from '../../../modules/contract/agent-form.ts';
import { isPass, type TrafficRequest } from '../../../modules/contract/decides.ts';
import type { CheckContext, Module } from '../../../modules/contract/module.ts';
import { moduleProblems, normalized, sealed } from '../../../modules/module-config.ts';
import { type ModuleSettings, settingsOf } from '../../../modules/module-settings.ts';
import { modules as allModules } from '../../../modules/registry.ts';
import type { DetachedRecord } from '../../snapshot/detached-edge.ts';
import type { EdgeSnapshot, RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { Snapshots } from '../../snapshot/snapshots.ts';
import type { EndpointModules, EndpointPublisher, NewEndpoint, Publication } from './endpoints.ts';
import type { RawConnections, RawEndpoint } from './raw-connections.ts';
import type { NoPort, TcpPorts } from './tcp-ports.ts';

type Proto = 'http' | 'https' | 'tcp' | 'tls';

interface DecodedModules {
  readonly modules: ReadonlyMap<string, JsonObject>;
  readonly records: readonly DetachedRecord[];
}

/** The server's modules and their settings. */
interface ModuleServer {
  readonly modules: readonly Module[];
  readonly moduleSettings: ModuleSettings;
  readonly agentNetwork?: CheckContext['agentNetwork'];
}

/** Refusal message for the agent's user. */
export class ModuleRefusal extends Error {}

const UNSUPPORTED_REASONS: Readonly<Record<Proto, string>> = {
  https: '',
  http: 'plain http cannot protect a login or a client certificate: use https',
  tcp: 'the server does not inspect the bytes of a tcp tunnel',
  tls: 'the server cannot decrypt a tls tunnel',
};

/** Turns the modules that an agent requests into configuration and records of an edge. Throws ModuleRefusal. */
export function decodeModules(
  endpointId: string,
  proto: Proto,
  asked: EndpointModules,
  server: ModuleServer,
): DecodedModules {
  const offered = new Map(agentModules(server.modules).map((module) => [module.name, module]));
  const wanted = Object.entries(asked)
    .filter(([, form]) => form !== undefined)
    .map(([name, form]) => [moduleFor(name, proto, offered), form as JsonValue] as const);
  const logins = wanted.map(([module]) => module).filter(({ isLogin }) => isLogin === true);
  if (logins.length > 1) {
    throw new ModuleRefusal(
      `${logins.map(({ name }) => name).join(' and ')} cannot be used together: a tunnel has one login`,
    );
  }
  const modules = new Map<string, JsonObject>();
  const records: DetachedRecord[] = [];
  for (const [module, form] of wanted) {
    const accepted = acceptForm(module, form, endpointId, server);
    modules.set(module.name, accepted.config);
    records.push(...accepted.records);
  }
  return { modules, records };
}

/** A list of people or addresses may be long. */
const MAX_RULE = 200;

/** Who may enter, as short texts without secrets. Empty: everybody. */
export function entryRules(asked: EndpointModules): readonly string[] {
  return agentModules(allModules).flatMap((module) => {
    const form = asked[module.name];
    if (!module.decidesAccess || !isJsonObject(form) || form['enforce'] === false || form['enabled'] === false) {
      return [];
    }
    const texts = summaryOf(module.agent.form, form);
    return (texts.length === 0 ? [module.title] : texts).map((text) =>
      text.length > MAX_RULE ? `${text.slice(0, MAX_RULE)}…` : text,
    );
  });
}

function moduleFor(name: string, proto: Proto, offered: ReadonlyMap<string, AgentModule>): AgentModule {
  const module = offered.get(name);
  if (module === undefined) throw new ModuleRefusal(`there is no module "${name}"`);
  if (module.agent.form.protocols.includes(proto)) return module;
  throw new ModuleRefusal(
    `${name} cannot be applied to a tunnel of the protocol ${proto}: ${UNSUPPORTED_REASONS[proto]}`,
  );
}

function acceptForm(module: AgentModule, form: JsonValue, endpointId: string, server: ModuleServer): AcceptedForm {
  const { name, agent } = module;
  if (!isJsonObject(form)) throw new ModuleRefusal(`${name}: must be an object`);
  const decoded = decodeForm(module, form, server);
  for (const field of agent.form.fields) checkRule(name, field, decoded[field.name]);
  const missing = agent.form.fields.filter((field) => field.isNeeded === true && decoded[field.name] === '');
  // Without any field it may be whole: then `accept` decides.
  if (missing.length > 0 && agent.form.bare === undefined) {
    throw new ModuleRefusal(`${name}: ${missing.map((field) => field.name).join(' and ')} must be given`);
  }
  const { settings } = checkContext(module, server);
  const accepted = agent.accept?.(decoded, endpointId, settings) ?? { config: decoded, records: [] };
  if ('problem' in accepted) throw new ModuleRefusal(`${name}: ${accepted.problem}`);
  if (agent.schema !== undefined)
    refuseProblem(name, moduleProblems(module, accepted.config, checkContext(module, server)));
  const result = sealed(module, normalized(module, accepted.config), { stored: null, seed: endpointId });
  if ('problems' in result) refuseProblem(name, result.problems);
  return { ...accepted, ...('config' in result && { config: result.config }) };
}

function refuseProblem(module: string, [problem]: readonly FieldProblem[] = []): void {
  if (problem !== undefined) throw new ModuleRefusal(`${module}: ${fieldName(problem.path)} ${problem.message}`);
}

function checkContext(module: AgentModule, { moduleSettings, agentNetwork }: ModuleServer): CheckContext {
  return { settings: settingsOf(moduleSettings, module), ...(agentNetwork !== undefined && { agentNetwork }) };
}

/** Decoded like a PUT, where the form is the module's configuration. */
function decodeForm(module: AgentModule, form: JsonObject, server: ModuleServer): JsonObject {
  const { schema } = module.agent;
  const decoded = createDecoder(schema ?? module.config).decode(form);
  const context = checkContext(module, server);
  const checked = decoded.ok && schema === undefined ? moduleProblems(module, decoded.value, context) : [];
  const [problem] = decoded.ok ? checked : decoded.problems;
  if (decoded.ok && problem === undefined) return decoded.value;
  throw new ModuleRefusal(`${module.name}: ${fieldName(problem?.path ?? '')} ${problem?.message ?? ''}`);
}

/** The same rule that the agent's commands apply to the field. */
function checkRule(module: string, { rule }: AgentField, value: JsonValue | undefined): void {
  if (rule === undefined) return;
  for (const text of Array.isArray(value) ? value : [value]) {
    const problem = typeof text === 'string' ? FIELD_RULES[rule](text) : null;
    const shown = rule === 'credentials' ? 'a user' : JSON.stringify(text);
    if (problem !== null) throw new ModuleRefusal(`${module}: ${shown} ${problem}`);
  }
}

/** Settings of endpoints beside traffic. */
export interface EndpointSettings {
  /** All registered modules: an endpoint's modules are prepared by the same ones. */
  readonly modules: readonly Module[];
  readonly moduleSettings: ModuleSettings;
  /** Limits of the issuers that agents name. */
  readonly agentNetwork?: CheckContext['agentNetwork'];
  readonly tcpPorts: PortRange;
  /** Name of this server, where the listener's address cannot be dialled. */
  readonly domain: string;
}

/** Ports of the listeners as clients see them. Called once these are open. */
export type PublicPorts = () => { readonly https: number; readonly http: number };

interface EndpointPublisherOptions {
  readonly settings: EndpointSettings;
  readonly publicPorts: PublicPorts;
  readonly snapshots: Snapshots;
  readonly ports: TcpPorts;
  readonly connections: RawConnections;
}

/** The kind of edge that an endpoint is, without records. */
function kindOf(proto: Proto): EdgeKind {
  const kind = edgeKinds.find(({ protocols }) => protocols.includes(proto));
  if (kind === undefined) throw new Error(`no kind of edge has endpoints of ${proto}`);
  return kind;
}

const HTTPS_PORT = 443;
const HTTP_PORT = 80;

/**
 * Endpoints of agents, from `publish` to `withdraw`. http and https become edges without records; tls become hosts
 * whose connections are forwarded undecrypted; tcp become listeners.
 */
export class Endpoints implements EndpointPublisher {
  readonly #options: EndpointPublisherOptions;
  readonly #tlsHosts = new Map<string, RawEndpoint>();
  /** The function that withdraws each endpoint. */
  readonly #published = new Map<string, () => void>();

  constructor(options: EndpointPublisherOptions) {
    this.#options = options;
  }

  isCoveredByEdge(host: string): boolean {
    return this.#options.snapshots.findEdge(host) !== undefined;
  }

  /** The tls tunnel of the host, unless an edge has that exact name. */
  tlsEndpoint(host: string): RawEndpoint | undefined {
    const found = this.#tlsHosts.get(host);
    if (found === undefined) return undefined;
    return this.#options.snapshots.findEdge(host)?.isExact === true ? undefined : found;
  }

  publish(endpoint: NewEndpoint): Promise<Publication> {
    return withParts(() => this.#publish(endpoint));
  }

  async #publish(endpoint: NewEndpoint): Promise<Publication> {
    try {
      if (this.#published.has(endpoint.id)) throw new Error(`${endpoint.id} is published already`);
      if (kindOf(endpoint.proto).owns === 'ports') return await this.#publishTcp(endpoint, this.#compile(endpoint));
      const { host } = endpoint;
      if (host === null) return refused('ERR_POSTERN_TUNNEL_INVALID', `a tunnel of ${endpoint.proto} needs a host`);
      if (this.#isTaken(host, endpoint.proto)) {
        return refused(
          'ERR_POSTERN_TUNNEL_NAME_TAKEN',
          `${host} belongs to an edge or another tunnel: use another name`,
        );
      }
      return this.#publishHost(endpoint, host, this.#compile(endpoint));
    } catch (error) {
      if (error instanceof ModuleRefusal) return refused('ERR_POSTERN_TUNNEL_INVALID', error.message);
      throw error;
    }
  }

  withdraw(endpointId: string): void {
    const take = this.#published.get(endpointId);
    this.#published.delete(endpointId);
    take?.();
  }

  withdrawAll(): void {
    for (const id of [...this.#published.keys()]) this.withdraw(id);
  }

  /** By an edge with this exact name, or by a tunnel on the same listener. */
  #isTaken(host: string, proto: Proto): boolean {
    const { snapshots } = this.#options;
    if (snapshots.findEdge(host)?.isExact === true) return true;
    if (proto === 'http') return snapshots.findPlain(host) !== undefined;
    const ofAgent = snapshots.find(host);
    return this.#tlsHosts.has(host) || (ofAgent !== undefined && this.#published.has(ofAgent.id));
  }

  #publishHost(endpoint: NewEndpoint, host: string, edge: EdgeSnapshot): Publication {
    const { snapshots, publicPorts } = this.#options;
    const { proto } = endpoint;
    const { https, http } = publicPorts();
    const hostport = `${host}:${proto === 'http' ? http : https}`;
    if (edge.connection !== undefined) {
      this.#tlsHosts.set(host, this.#rawEndpoint(endpoint, 'tls', edge));
      this.#published.set(endpoint.id, () => {
        this.#tlsHosts.delete(host);
        this.#options.connections.cutAll(endpoint.id, 'withdrawn');
      });
      snapshots.takenFromWildcard(host);
      return { ok: true, publicUrl: `tls://${hostport}`, hostport };
    }
    this.#published.set(endpoint.id, () => snapshots.removeEphemeral(endpoint.id));
    snapshots.addEphemeral(edge);
    const isUsual = proto === 'http' ? http === HTTP_PORT : https === HTTPS_PORT;
    return { ok: true, publicUrl: `${proto}://${isUsual ? host : hostport}`, hostport };
  }

  async #publishTcp(endpoint: NewEndpoint, edge: EdgeSnapshot): Promise<Publication> {
    const { ports, connections, settings } = this.#options;
    const raw = this.#rawEndpoint(endpoint, 'tcp', edge);
    const opened = await ports.open(endpoint.port, (socket, client) => connections.carry(raw, socket, client));
    if (typeof opened === 'string') return this.#noPort(opened, endpoint.port);
    this.#published.set(endpoint.id, () => {
      opened.close();
      connections.cutAll(endpoint.id, 'withdrawn');
    });
    const { host } = settings.tcpPorts;
    const hostport = formatListenAddress({ host: isWildcardHost(host) ? settings.domain : host, port: opened.port });
    return { ok: true, publicUrl: `tcp://${hostport}`, hostport };
  }

  #noPort(why: NoPort, port: number | null): Publication {
    const { first, last } = this.#options.settings.tcpPorts;
    const ours = `${first} to ${last} (setting tcp_ports)`;
    const code = 'ERR_POSTERN_TUNNEL_PORT';
    if (why === 'range')
      return refused(code, `the ports for tcp tunnels on this server are ${ours}, and ${port} is not one of them`);
    if (why === 'taken')
      return refused(code, `port ${port} is in use: request another one, or none to get a free port`, true);
    if (why === 'none') return refused(code, `all ports for tcp tunnels on this server are in use: ${ours}`, true);
    const which = port === null ? `the ports for tcp tunnels, ${ours},` : `port ${port}`;
    return refused(code, `this server cannot open ${which} (${why}): check the setting tcp_ports`, true);
  }

  #compile(endpoint: NewEndpoint): EdgeSnapshot {
    const { settings, snapshots } = this.#options;
    const { id, proto, host, tunnelId } = endpoint;
    const decoded = decodeModules(id, proto, endpoint.modules, settings);
    const edge = snapshots.compileDetached({
      kind: kindOf(proto),
      id,
      host,
      isPlain: proto === 'http',
      ...decoded,
      backend: { kind: TUNNEL_BACKEND_KIND, id: tunnelId, config: { tunnel_id: tunnelId } },
    });
    const [problem] = [...edge.problems, ...routesOf(edge).flatMap((route) => route.problems)];
    if (problem !== undefined) throw new ModuleRefusal(`${problem.module} cannot be applied: ${problem.message}`);
    return edge;
  }

  #rawEndpoint({ id: endpointId, tunnelId }: NewEndpoint, proto: 'tcp' | 'tls', edge: EdgeSnapshot): RawEndpoint {
    const judges = routesOf(edge).flatMap((route) =>
      route.modules.flatMap(({ prepared }) => (prepared.judge === undefined ? [] : [prepared])),
    );
    return {
      endpointId,
      tunnelId,
      proto,
      // The only module that these may have looks at nothing else; one that decides later has not admitted it.
      isAddressAllowed: (clientAddress) =>
        judges.every((module) => {
          const verdict = module.judge?.({ clientAddress } as TrafficRequest);
          return verdict !== undefined && isPass(verdict);
        }),
    };
  }
}

/** Routes of an edge, or what the edge has in their place. */
function routesOf({ connection, routes }: EdgeSnapshot): readonly RouteSnapshot[] {
  return connection === undefined ? routes.all : [connection];
}

function refused(code: string, message: string, retry = false): Publication {
  return { ok: false, code, message, retry };
}
