import { GUARDS, isOwnLogin, otherProtection, ownLogin } from '../../../client/publish/edge-login.ts';
import { peopleText } from '../../../client/publish/people-rules.ts';
import { type Current, type EdgePlan, edgeUrl, planEdge } from '../../../client/publish/plan-edge.ts';
import type { EdgeOperation } from '../../../client/publish/plan-parts.ts';
import type { WantedEdge, WantedPeople, WantedTarget } from '../../../client/publish/wanted-edge.ts';
import type { Transport } from '../../../client/transport.ts';
import { type ParsedFlags, usage } from '../../../kit/flags.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { formatListenAddress, isLoopbackHost, type ListenAddress } from '../../../kit/net/listen-address.ts';
import { emailAddress } from '../../../kit/text/email-address.ts';
import { shellWord } from '../../../kit/text/terminal-text.ts';
import { ADMINISTRATORS_GROUP } from '../../settings/console-settings.ts';
import type { LoadedConfig } from '../../settings/load.ts';
import type { CommandContext } from '../command.ts';
import { dialled } from '../doctor/dial.ts';
import { NO_IDENTITY_HOST } from '../edge/edge-arguments.ts';
import { printPlanLines, publishEdge, readCurrent } from '../edge/edge-command.ts';
import { printable } from '../output/cell-text.ts';
import { isAgreed } from '../shared-flags.ts';
import { upFailed } from './errors.ts';
import type { ServerFacts, ShownSettings } from './reach-server.ts';
import type { WantedUp } from './wanted-up.ts';

/** Owner of what `postern up` makes, and `postern down` removes. */
export const UP_OWNER = 'postern-up';
/** End of the name of a claimed backend; a host cannot end like this. */
export const BACKEND_CLAIM = '/ backend';
/** The same, of a claimed IP policy. Its rules go with it. */
export const POLICY_CLAIM = '/ addresses';

interface Site {
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
  const current = await readCurrent(transport, {
    ...wanted.guards,
    ...(wanted.target !== null && { target: wanted.target }),
  });
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

/**
 * The wish with the people whom the login lets in. A new login without named people admits everybody with an account:
 * the command says so before it starts anything. On a terminal it offers the owner's address, which --email has: nobody
 * else would have an account at first. --yes does not name people.
 */
export async function withNamedPeople(
  wanted: WantedUp,
  parsed: ParsedFlags,
  context: Pick<CommandContext, 'ask' | 'warn'>,
): Promise<WantedUp> {
  if (wanted.login !== 'own' || peopleText(wanted.people) !== null) return wanted;
  const address = emailAddress(parsed.flags.get('email') ?? '');
  const email = address?.isPlain === true ? address.text : undefined;
  if (email !== undefined && context.ask !== undefined) {
    const answer = await context.ask(printable(`Invite ${email}, and let in nobody else for now? [y/N] `));
    if (/^y(es)?$/i.test(answer.trim())) return { ...wanted, people: { ...wanted.people, emails: [email] } };
  }
  context.warn(
    printable(
      `postern: the login lets in everybody with an account of this server, and only those whom you invite get one. To let in named people only, add --allow-email ${email ?? 'ana@example.com'}`,
    ),
  );
  return wanted;
}

const RULE = /^(?:viewer|operator|admin)=(?<claim>groups|email):(?<value>.+)$/;

/**
 * The site of the console: the API behind a login at the identity host, for people who have a role. The console asks
 * for its own login too, and the rest of the API for a key, so a mistake in one of them opens nothing.
 */
export function consoleSite(host: string, settings: ShownSettings, { config }: LoadedConfig): WantedUp {
  const listOf = (name: string): unknown => settings.find((each) => each.name === name)?.value ?? null;
  const issuer = listOf('console_oidc_issuer') as string | null;
  if (issuer !== null)
    throw upFailed(
      `people log in to the console at ${issuer} (console_oidc_issuer), and --console needs the identity host: unset it, or publish the console with "postern edge" and a login there`,
    );
  const address = formatListenAddress(dialled(config.api_listen));
  return {
    host,
    port: null,
    target: { kind: 'address', address, hasTls: config.api_tls_cert !== null },
    login: 'own',
    people: peopleWith((listOf('console_roles') ?? []) as readonly string[]),
    guards: {},
    console: null,
  };
}

/**
 * The people of the rules, where one rule of a route can name them. Otherwise everybody who logs in reaches the page,
 * which knows the roles.
 */
function peopleWith(rules: readonly string[]): WantedPeople {
  const nobody = { emails: [], emailDomains: [], groups: [] };
  if (rules.length === 0) return { ...nobody, groups: [ADMINISTRATORS_GROUP] };
  const read = rules.map((rule) => RULE.exec(rule)?.groups ?? {});
  const values = read.map(({ value = '' }) => value);
  if (read.every(({ claim }) => claim === 'groups')) return { ...nobody, groups: values };
  return read.every(({ claim }) => claim === 'email') ? { ...nobody, emails: values } : nobody;
}

export interface ConsolePlace {
  /** The address of the console, with a link that logs in if there is one. */
  readonly url: string;
  readonly isLink: boolean;
  /** What the page of the link asks for; null: nothing. */
  readonly code: string | null;
  /** Where the API listens. */
  readonly listen: ListenAddress;
  /** A host that leads to this machine. */
  readonly host: string;
  /** Address at which the console is published; null: it listens on this machine only. */
  readonly publicUrl: string | null;
}

/** How to open the console, here and from another machine. */
export function consoleLines(
  { url, isLink, code, listen, host, publicUrl }: ConsolePlace,
  { env }: Pick<CommandContext, 'env'>,
): readonly string[] {
  const asks = code === null ? '' : `, with the code ${code}`;
  const once = isLink ? ` (logs you in once, within ten minutes${asks})` : '';
  if (publicUrl !== null) return [publicUrl, `${url}${once}`];
  if (isLoopbackHost(host)) return [`${url}${once}`];
  // With sudo, root may not log in from elsewhere.
  const user = env['SUDO_USER'] || env['USER'] || 'root';
  const tunnel = `${listen.port}:${formatListenAddress(listen)}`;
  return [`${url}${once}`, `from another machine, first: ssh -N -L ${tunnel} ${shellWord(`${user}@${host}`)}`];
}
