import type { Clock } from '../../../kit/clock.ts';
import type { CanonicalPath } from '../../../kit/http/canonical-path.ts';
import { combinedValue, type HeaderList } from '../../../kit/http/header-values.ts';
import { matchKey } from '../../../kit/http/urls.ts';
import type { AssumedPerson } from '../../../modules/contract/decides.ts';
import type { Module } from '../../../modules/contract/module.ts';
import type { EdgeSnapshot, RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { RouteMatch } from '../../snapshot/route-table.ts';
import type { ClientAddresses } from '../connections/connection-facts.ts';
import { type EdgeErrorCode, edgeErrors } from '../errors.ts';
import { isOwnPath } from '../exchange/own-paths.ts';
import { MISDIRECTED, NO_PAGE, unmatched, unpreparedModule } from '../exchange/refusals.ts';
import type { ForwardingRuntime } from '../forwarding/forwarded-request.ts';
import { type HeadRules, type RequestHead, readHead } from '../http/request-head.ts';
import { unreadReason } from '../reports/access-log.ts';
import { judgeHandshake } from './client-certificate.ts';
import { explainRoute } from './explain-route.ts';
import {
  type Candidate,
  type ExplainedDecision,
  type Explanation,
  type HypotheticalQuestion,
  HypotheticalRequest,
} from './explanation.ts';
import type { ReachView } from './possible-targets.ts';

export interface ExplainPorts {
  readonly clock: Clock;
  readonly rules: HeadRules;
  readonly addresses: ClientAddresses;
  runtimeOf(scheme: 'http' | 'https'): ForwardingRuntime;
  readonly reach: ReachView;
  readonly modules: readonly Module[];
  readonly lastLogins: (edgeId: string) => Promise<AssumedPerson['logins']>;
  findEdge(scheme: 'http' | 'https', host: string): EdgeSnapshot | undefined;
  /** Name of the program's own host that the host is below; null: it is below none. */
  ownHostAbove(host: string): string | null;
  /** Whether connections for the host go to an agent undecrypted. */
  isPassthrough(host: string): boolean;
  /** Whether the name is below the own domain, so that its visitors get a page. */
  isVacant(scheme: 'http' | 'https', host: string): boolean;
  /** The same edge with modules whose effects go nowhere. Null: it was deleted meanwhile. */
  inertEdge(edge: EdgeSnapshot): Promise<EdgeSnapshot | null>;
}

/** Runs a request that nobody has sent through the code of traffic, up to the point where something would be sent. */
export async function explainRequest(question: HypotheticalQuestion, ports: ExplainPorts): Promise<Explanation> {
  const { url, method, headers, address } = question;
  const { scheme } = url;
  const live = ports.findEdge(scheme, url.host);
  if (live === undefined) return withoutEdge(question, ports);
  if (live.ownHost !== undefined) return ownHost(url.host);
  const edge = await ports.inertEdge(live);
  if (edge === null) return withoutEdge(question, ports);
  const found: Found = { edgeId: edge.id, routeId: null, match: null, candidates: [] };

  const handshake =
    scheme === 'https' ? judgeHandshake(edge.tls, question.clientCertificatePem, ports.clock.nowMs()) : NO_TLS;
  if ('reason' in handshake) {
    const { reason, text } = handshake;
    return refused(found, { module: certificateModule(edge), decision: 'refuse', reason, text }, {});
  }
  const hasHost = headers.some((name, at) => at % 2 === 0 && name.toLowerCase() === 'host');
  const reading = readHead(
    {
      method,
      target: url.target,
      httpVersion: 1,
      absoluteScheme: scheme,
      rawHeaders: hasHost ? headers : ['host', url.authority, ...headers],
      authority: null,
      protocol: null,
      hasUpgrade: method === 'GET' && asksForWebSocket(headers),
      isFromProxy: ports.addresses.isTrusted(address),
    },
    ports.rules,
  );
  if (!reading.ok)
    return refusedByEdge(found, reading.code, unreadReason(reading.code), `Rejected: ${reading.message}.`);
  const { head } = reading;
  if (ports.findEdge(scheme, head.host)?.id !== edge.id) return refusedByEdge(found, ...MISDIRECTED);
  if (isOwnPath(edge, head.path)) return ownPath(edge, head, found);

  const match = edge.routes.match(head.path, head.host);
  const candidates = routeCandidates(edge, head.path, match);
  if (match.found === null) {
    const [code, reason, text] = unmatched(match, head.path);
    if (match.reason !== 'strict') return refusedByEdge({ ...found, candidates }, code, reason, text);
    const why = `${text} Such paths pass only on routes where nothing reads paths.`;
    return refusedByEdge({ ...found, candidates }, code, reason, why, { rule: match.pathReader });
  }
  const route = match.found;
  const served = route.id === edge.id ? null : route;
  const at: Found = { ...found, candidates, routeId: served?.id ?? null, match: served?.match ?? null };
  if (route.problem !== null) {
    const { status, code } = unpreparedModule(route.problem);
    const { module, message } = route.problem;
    const decision = { module, decision: 'refuse', reason: 'unprepared', text: `${message}.` } as const;
    return refused(at, decision, { status, errorCode: code });
  }
  const request = new HypotheticalRequest({
    head,
    address,
    clientAddress: ports.addresses.of(address, head),
    clientCertificate: handshake.certificate,
    nowMs: ports.clock.nowMs(),
    runtime: ports.runtimeOf(scheme),
  });
  const explained = await explainRoute(request, { edge, route }, question, ports);
  return { ...at, ...explained, decisions: [...oddPath(head), ...explained.decisions] };
}

function oddPath({ path: { odd } }: RequestHead): readonly ExplainedDecision[] {
  if (odd === null) return [];
  const text = `It passes byte for byte, although ${odd}: all readings of it get this route, and nothing here reads paths.`;
  return [{ module: 'edge', decision: 'pass', reason: 'odd_path', text }];
}

/** As over HTTP/1.1: the edge serves any other Upgrade as if it had not been requested. */
function asksForWebSocket(headers: HeaderList): boolean {
  const list = headers.map((text) => text.toLowerCase());
  const options = combinedValue(list, 'connection')?.split(',') ?? [];
  return combinedValue(list, 'upgrade') === 'websocket' && options.some((option) => option.trim() === 'upgrade');
}

const NO_TLS = { certificate: null } as const;

/** The module that asks clients for certificates. */
function certificateModule({ routes }: EdgeSnapshot): string {
  const modules = routes.all.flatMap((route) => route.modules);
  return modules.find(({ prepared }) => prepared.tls?.clientAuthorities !== undefined)?.name ?? 'edge';
}

type Found = Pick<Explanation, 'edgeId' | 'routeId' | 'match' | 'candidates'>;

const NOTHING: Found = { edgeId: null, routeId: null, match: null, candidates: [] };

/** Names of agents' TLS tunnels, redirects to HTTPS, and hosts that nothing serves. */
function withoutEdge({ url }: HypotheticalQuestion, ports: ExplainPorts): Explanation {
  const { host, scheme } = url;
  const decided = (decision: ExplainedDecision['decision'], reason: string, text: string): ExplainedDecision => ({
    ...{ module: 'edge', decision, reason, text },
  });
  const above = ports.ownHostAbove(host);
  if (above !== null && scheme === 'https') {
    const text = `${host} is below ${above}, the identity host of this server (identity_host): no edge and no tunnel may serve it, whatever is configured. The TLS handshake fails.`;
    return refused(NOTHING, decided('refuse', 'below_identity_host', text), {});
  }
  if (scheme === 'http' && ports.findEdge('https', host) !== undefined) {
    const text = 'The plain HTTP listener redirects requests for this host to HTTPS.';
    return refused(NOTHING, decided('answer', 'redirect_to_https', text), { status: 308 });
  }
  if (scheme === 'https' && ports.isPassthrough(host)) {
    const text = 'A TLS tunnel serves this host: the agent decrypts its connections, and the edge sees no request.';
    return refused(NOTHING, decided('pass', 'tls_passthrough', text), {});
  }
  if (ports.isVacant(scheme, host)) {
    const code = 'ERR_POSTERN_NOTHING_HERE';
    return refusedByEdge(NOTHING, code, unreadReason(code), `Nothing is online at ${host}.`);
  }
  if (scheme === 'http')
    return refusedByEdge(NOTHING, 'ERR_POSTERN_NO_ROUTE', 'no_route', `No edge and no tunnel has the host ${host}.`);
  const text = `No edge and no tunnel has the host ${host}: the TLS handshake fails.`;
  return refused(NOTHING, decided('refuse', 'unknown_host', text), {});
}

/** Handed over whole: no route, module or backend has a part in it. */
function ownHost(host: string): Explanation {
  const text = `The server itself serves ${host}: it is the identity host (identity_host), where people log in. No edge and no tunnel serves it, whatever is configured.`;
  const decision = { module: 'identity', decision: 'pass', reason: 'identity_host', text } as const;
  return refused(NOTHING, decision, {});
}

function ownPath(edge: EdgeSnapshot, { path }: RequestHead, found: Found): Explanation {
  if (edge.ownPathRoutes.length === 0) return refusedByEdge(found, ...NO_PAGE);
  const serving = edge.ownPathRoutes
    .flatMap(({ modules }) => modules)
    .find(({ ownPaths, prepared }) => prepared.ownPaths !== undefined && ownPaths?.includes(path.path) === true);
  const module = serving?.name ?? 'edge';
  const text = `The edge serves ${path.path} itself. An explanation does not run it.`;
  return refused(found, { module, decision: 'pass', reason: 'own_path', text }, {});
}

function refusedByEdge(
  found: Found,
  code: EdgeErrorCode,
  reason: string,
  text: string,
  rule: Pick<ExplainedDecision, 'rule'> = {},
): Explanation {
  const { status } = edgeErrors.rows[code];
  return refused(found, { module: 'edge', decision: 'refuse', reason, ...rule, text }, { status, errorCode: code });
}

function refused(
  found: Found,
  decision: ExplainedDecision,
  outcome: { readonly status?: number; readonly errorCode?: string },
): Explanation {
  return { ...found, decisions: [decision], outcome: { ...outcome, targets: [] }, upstreamRequest: null };
}

const MAX_CANDIDATES = 1_000;

/** The other routes of the edge, and why none of them serves the path. */
function routeCandidates(
  edge: EdgeSnapshot,
  { key }: CanonicalPath,
  match: RouteMatch<RouteSnapshot>,
): readonly Candidate[] {
  const { found } = match;
  const refused = found === null && match.reason === 'strict' ? STRICT : AMBIGUOUS;
  return edge.routes.all
    .filter((route) => route.id !== found?.id)
    .slice(0, MAX_CANDIDATES)
    .map((route) => ({ routeId: route.id, match: route.match, whyNot: whyNot(route, key, found, refused) }));
}

const AMBIGUOUS = 'The path is ambiguous, so no route serves it.';
const STRICT = 'It matches, but the route refuses paths that programs read differently.';

function whyNot(
  { matchType, match }: RouteSnapshot,
  key: string,
  found: RouteSnapshot | null,
  refused: string,
): string {
  const wanted = matchKey(match);
  if (matchType === 'exact_path' && key !== wanted) return `The path is not exactly "${match}".`;
  if (matchType === 'path_prefix' && !key.startsWith(wanted)) return `The path does not start with "${match}".`;
  if (found === null) return refused;
  return found.matchType === 'exact_path'
    ? `It matches, but the exact path "${found.match}" takes precedence.`
    : `It matches, but the prefix "${found.match}" is longer.`;
}
