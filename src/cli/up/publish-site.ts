import type { Transport } from '../../client/transport.ts';
import { type ParsedFlags, usage } from '../../lib/flags.ts';
import type { JsonObject } from '../../lib/json.ts';
import { GUARDS, isOwnLogin, otherProtection, ownLogin } from '../../publish/edge-login.ts';
import type { EdgeOperation } from '../../publish/edge-operation.ts';
import { edgeUrl } from '../../publish/edge-url.ts';
import { type Current, type EdgePlan, planEdge } from '../../publish/plan-edge.ts';
import type { WantedEdge, WantedTarget } from '../../publish/wanted-edge.ts';
import { printable } from '../api/cell-text.ts';
import type { CommandContext } from '../command.ts';
import { printPlanLines } from '../edge/edge-command.ts';
import { NO_IDENTITY_HOST } from '../edge/edge-login.ts';
import { publishEdge, readCurrent } from '../edge/publish-edge.ts';
import { isAgreed } from '../is-agreed.ts';
import type { ServerFacts, ShownSettings } from './server-facts.ts';
import { upFailed } from './up-failed.ts';
import type { WantedUp } from './wanted-up.ts';

/** Owner of what `postern up` makes, and `postern down` removes. */
export const UP_OWNER = 'postern-up';
/** End of the name of a claimed backend; a host cannot end like this. */
export const BACKEND_CLAIM = '/ backend';
/** The same, of a claimed IP policy. Its rules go with it. */
export const POLICY_CLAIM = '/ addresses';

export interface Site {
  readonly wanted: WantedUp;
  /** In effect at the server. */
  readonly settings: ShownSettings;
  readonly facts: Pick<ServerFacts, 'publicPort' | 'apiHost'>;
  readonly parsed: ParsedFlags;
  readonly context: CommandContext;
}

export interface PublishedSite {
  readonly url: string;
  /** Whether people log in at the server's identity host. */
  readonly hasOwnLogin: boolean;
  /** Whether rules already said who may enter. */
  readonly hadRules: boolean;
}

/** Publishes the host in one change. Null: the user said no. */
export async function publishSite(transport: Transport, site: Site): Promise<PublishedSite | null> {
  const { wanted, parsed, context, facts } = site;
  if (wanted.login === 'none' && wanted.host === facts.apiHost)
    throw upFailed(`${wanted.host} serves the console and the API, which are never open. Nothing was changed`);
  const current = await readCurrent(transport, wanted.guards);
  const edge = wantedEdge(site, current);
  const plan = planEdge(edge, current, { removesLogin: wanted.login === 'none' });
  if (plan.obstacle !== null) throw upFailed(printable(`${plan.obstacle}. Nothing was published`));
  const url = edgeUrl(edge, plan);
  printPlanLines(plan, context);
  for (const note of plan.notes) context.warn(`postern: ${printable(note)}`);
  const opens = ({ method, path }: EdgeOperation): boolean =>
    method === 'DELETE' && GUARDS.some(([name]) => path.endsWith(`/${name}`));
  const protection = otherProtection(plan.route, wanted.guards);
  const question =
    protection === null
      ? `Everybody can open ${url} afterwards. Go on?`
      : `No login protects ${url} afterwards, only ${protection}. Go on?`;
  if (plan.operations.some(opens) && !(await isAgreed(parsed, context, question))) {
    const how =
      context.ask === undefined ? `${question} There is no terminal to ask on: add --yes. Nothing` : 'nothing';
    context.warn(`postern: ${how} was changed`);
    return null;
  }
  if (plan.operations.length === 0) context.print('nothing to change');
  else {
    const owner = { name: UP_OWNER, claims: claimsOf(wanted.host, plan) };
    await publishEdge(transport, plan, { message: `postern up ${wanted.host}`, isDryRun: false, owner });
  }
  if (wanted.login === 'none')
    context.print(`no login, open to ${protection === null ? 'everybody' : `visitors with ${protection}`}`);
  return {
    url,
    hasOwnLogin: wanted.login !== 'none' && isOwnLogin(edge.login, plan.route),
    hadRules: (plan.route?.access ?? null) !== null,
  };
}

function wantedEdge({ wanted, settings, facts }: Site, current: Current): WantedEdge {
  const { host, login, people, guards } = wanted;
  const edge = current.edges.find(({ hostports }) => hostports.some((each) => each.replace(/:\d+$/, '') === host));
  const own = login === 'own' ? ownLogin(settings) : null;
  if (own === undefined) throw upFailed(`${NO_IDENTITY_HOST}. Nothing was published`);
  const { publicPort } = facts;
  const port = wanted.port ?? (edge === undefined ? publicPort : null);
  const target = wanted.target ?? formerTarget(wanted, edge);
  return { host, port, listenerPort: publicPort, path: '/', target, login: own, ...people, ...guards };
}

function formerTarget({ host }: WantedUp, edge: Current['edges'][number] | undefined): WantedTarget {
  const id = edge?.routes.find(({ match }) => match === '/')?.backend?.backend.id;
  if (id === undefined) throw withoutTarget(host);
  return { kind: 'backend', id };
}

/** Throws if the command line does not say where requests go. */
export function requireTarget({ host, target }: WantedUp): void {
  if (target === null) throw withoutTarget(host);
}

function withoutTarget(host: string): Error {
  return usage(`--to is required: nothing serves ${host} yet. For example: --to 3000`);
}

/** What the plan makes. `postern down` finds it by these names. */
function claimsOf(host: string, { operations }: EdgePlan): JsonObject[] {
  const nameOf = ({ path }: EdgeOperation): string =>
    /^\/backends/.test(path)
      ? `${host}${BACKEND_CLAIM}`
      : path === '/ip_policies'
        ? `${host}${POLICY_CLAIM}`
        : /routes$/.test(path)
          ? `${host}/`
          : host;
  return operations.flatMap((operation, index) =>
    operation.method === 'POST' && operation.path !== '/ip_policy_rules'
      ? [{ id: `$\{${index}.id}`, name: nameOf(operation) }]
      : [],
  );
}
