import { reportBug } from '../../../kit/guarded-listeners.ts';
import { type CanonicalPath, readPath } from '../../../kit/http/canonical-path.ts';
import type { WholeAnswer } from '../../../kit/http/whole-request.ts';
import type { Answer, Refusal, TrafficRequest, Verdict } from '../../../modules/contract/decides.ts';
import { moduleErrors } from '../../../modules/contract/errors.ts';
import type { OwnAnswer, OwnPathSite, OwnPaths, PreparedModule } from '../../../modules/contract/prepared-module.ts';
import type { AdmissionStep, EdgeSnapshot, NamedModule, OwnHost, RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { UpstreamFailure } from '../../upstream/upstream.ts';
import { failed } from '../../upstream/upstream-failure.ts';
import type { EdgeErrorCode } from '../errors.ts';
import { type AdmissionWalk, askSteps } from './ask-steps.ts';
import type { Exchange } from './exchange.ts';
import { NO_PAGE } from './refusals.ts';

const PREFIX = '/.postern/';

/**
 * Whether the edge serves a path itself: on hosts where a module has such paths, and where it must not be forwarded. An
 * odd path never: the routes refuse it if it may be read as one of these.
 */
export function isOwnPath(edge: EdgeSnapshot, { key, odd }: CanonicalPath): boolean {
  if (!key.startsWith(PREFIX) || odd !== null) return false;
  return edge.ownPathRoutes.length > 0 || edge.secretPaths?.includes(key) === true;
}

/** Paths that a module serves itself, such as the callback of a login. */
export function serveOwnPath(edge: EdgeSnapshot, exchange: Exchange): void {
  if (edge.ownPathRoutes.length === 0) {
    exchange.refuse(...NO_PAGE);
    return;
  }
  const opened = openSite(edge, exchange);
  if ('refusal' in opened) {
    exchange.refusedByModule(opened.refusal, opened.module);
    return;
  }
  const answer = opened.ownPaths.serve(exchange, opened.site);
  if (answer instanceof Promise)
    answer.then((late) => sendOwnAnswer(exchange, late, opened.module)).catch((error: unknown) => exchange.bug(error));
  else sendOwnAnswer(exchange, answer, opened.module);
}

function sendOwnAnswer(exchange: Exchange, answer: OwnAnswer, module: string): void {
  if (exchange.isDone) return;
  if ('refusal' in answer) exchange.refusedByModule(answer.refusal, module);
  else if (!refusedAsOpen(exchange, answer.status)) {
    const headers = [...answer.headers, 'postern-request-id', exchange.id];
    exchange.answer(answer.status, headers, Buffer.from(answer.body));
  }
}

interface OwnPathRefusal {
  readonly module: string;
  readonly refusal: Refusal;
}

type OpenedSite = { readonly module: string; readonly ownPaths: OwnPaths; readonly site: OwnPathSite } | OwnPathRefusal;

/**
 * Own paths require everything that comes before their module: client certificates, address rules. One open route is
 * enough.
 */
function openSite(edge: EdgeSnapshot, request: TrafficRequest): OpenedSite {
  const modules: PreparedModule[] = [];
  let refused: OwnPathRefusal | null = null;
  let served: { readonly module: string; readonly ownPaths: OwnPaths } | null = null;
  const serves = serversOf(edge, request.path);
  for (const route of edge.ownPathRoutes) {
    const entered = enter(route, request, serves);
    if ('refusal' in entered) refused ??= entered;
    else if (entered.prepared?.ownPaths !== undefined) {
      modules.push(entered.prepared);
      served ??= { module: entered.module, ownPaths: entered.prepared.ownPaths };
    }
  }
  if (served === null) return refused ?? CLOSED;
  return { ...served, site: { modules, moduleFor: (target) => moduleFor(edge, request, target, serves) } };
}

const UNAVAILABLE: Refusal = {
  status: moduleErrors.rows.ERR_POSTERN_MODULE_UNAVAILABLE.status,
  code: 'ERR_POSTERN_MODULE_UNAVAILABLE',
  message: 'This site cannot be served at the moment. The log of the server has the reason.',
  reason: 'unprepared',
};
const CLOSED: OwnPathRefusal = { module: 'edge', refusal: UNAVAILABLE };

/**
 * The modules that declare the path, which several login modules of an edge do. When none does, any with own paths
 * responds.
 */
function serversOf(edge: EdgeSnapshot, path: string): Serves {
  const declares: Serves = ({ ownPaths }) => ownPaths?.includes(path) === true;
  const isDeclared = edge.ownPathRoutes.some((route) => route.modules.some(declares));
  return isDeclared ? declares : ({ prepared }) => prepared.ownPaths !== undefined;
}

type Serves = (module: NamedModule) => boolean;

function moduleFor(
  edge: EdgeSnapshot,
  request: TrafficRequest,
  target: string,
  serves: Serves,
): ReturnType<OwnPathSite['moduleFor']> {
  const reading = readPath(target);
  const route = reading.ok ? edge.routes.match(reading.path, request.host).found : null;
  if (route === null) return { found: null };
  if (route.problem !== null) return { refusal: UNAVAILABLE };
  const entered = enter(route, request, serves);
  return 'refusal' in entered ? entered : { found: entered.prepared };
}

/** Asks what comes before the module that serves the path. */
function enter(
  route: RouteSnapshot,
  request: TrafficRequest,
  serves: Serves,
): OwnPathRefusal | { readonly module: string; readonly prepared: PreparedModule | null } {
  const serving = route.modules.find(serves);
  const entry = new OwnPathEntry(request.id);
  askSteps(stepsBefore(route, serving), 0, request, entry);
  if (entry.refusal !== null) return entry.refusal;
  return serving === undefined ? { module: '', prepared: null } : { module: serving.name, prepared: serving.prepared };
}

/**
 * A module that recognizes requesters serves its paths to everybody whom the modules before have admitted, logged in
 * or not.
 */
function stepsBefore(
  { modules, accessSteps }: RouteSnapshot,
  serving: NamedModule | undefined,
): readonly AdmissionStep[] {
  if (serving === undefined) return accessSteps;
  const before = modules.slice(0, modules.indexOf(serving));
  const recognizes = accessSteps.some(({ module, grantsPermit }) => grantsPermit && module === serving.name);
  const end = accessSteps.findIndex(
    ({ module, grantsPermit }) => before.every(({ name }) => name !== module) || (recognizes && grantsPermit),
  );
  return end === -1 ? accessSteps : accessSteps.slice(0, end);
}

/** Decides at once: a module that needs time has not admitted the request. */
class OwnPathEntry implements AdmissionWalk {
  refusal: OwnPathRefusal | null = CLOSED;
  readonly #requestId: string;

  constructor(requestId: string) {
    this.#requestId = requestId;
  }

  passed(): void {}

  refused(refusal: Refusal, at: number, steps: readonly AdmissionStep[]): void {
    this.refusal = { module: (steps[at] as AdmissionStep).module, refusal };
  }

  /** The module has not admitted the request. */
  answered(_answer: Answer, at: number, steps: readonly AdmissionStep[]): void {
    this.refused(UNAVAILABLE, at, steps);
  }

  undecided(verdict: Promise<Verdict>, at: number, steps: readonly AdmissionStep[]): void {
    this.refused(UNAVAILABLE, at, steps);
    // Nobody waits for it, and its failure must not become that of the process.
    verdict.catch((error: unknown) => reportBug(error, { request_id: this.#requestId }));
  }

  admitted(): void {
    this.refusal = null;
  }
}

const CODE: EdgeErrorCode = 'ERR_POSTERN_UPSTREAM_BROKEN';
const MESSAGE = 'This address does not serve WebSockets.';

/**
 * A complete response of the edge to a WebSocket handshake over HTTP/2, where every 2xx would open the WebSocket (RFC
 * 8441 §5). Returns whether it was refused instead.
 */
export function refusedAsOpen(exchange: Exchange, status: number): boolean {
  if (!exchange.client.writer.wouldOpen(status)) return false;
  exchange.refuse(CODE, 'not_switched', MESSAGE);
  return true;
}

/** The same for the response of an upstream. */
export function notSwitched(status: number): UpstreamFailure {
  return failed('head', 'malformed', `${status} in response to a WebSocket handshake`, true);
}

/** Forms and tokens are far smaller. */
const MAX_BODY_BYTES = 65_536;
const TOO_LARGE = 'The body of the request is larger than 64 KB, which is more than this site accepts.';

/** Hands a request over whole. Its headers contain nothing that proxies report about the visitor: see `SPECIAL`. */
export function serveOwnHost(host: OwnHost, exchange: Exchange): void {
  if (refusedAsOpen(exchange, 200)) return;
  answered(host, exchange).catch((error: unknown) => exchange.bug(error));
}

async function answered(host: OwnHost, exchange: Exchange): Promise<void> {
  const { id, method, path, target, clientAddress, client } = exchange;
  const body = await exchange.readBody(MAX_BODY_BYTES);
  if (exchange.isDone) return;
  if (body === null) {
    exchange.refuse('ERR_POSTERN_EDGE_BODY_TOO_LARGE', 'body_too_large', TOO_LARGE);
    return;
  }
  const { headers } = client.head;
  const answer = await host.serve({ id, method, path, target, headers, body, clientAddress });
  if (!exchange.isDone) send(exchange, answer);
}

function send(exchange: Exchange, { status, headers, body }: WholeAnswer): void {
  exchange.answer(status, [...headers, 'postern-request-id', exchange.id], Buffer.from(body as string));
}
