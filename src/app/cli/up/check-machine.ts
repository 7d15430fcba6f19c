import type { WantedTarget } from '../../../client/publish/wanted-edge.ts';
import { identityAddress } from '../../../control/identity/contracts.ts';
import { parseAddress, publicAddressGuard } from '../../../kit/net/cidr.ts';
import { isLoopbackHost } from '../../../kit/net/listen-address.ts';
import { shellWord } from '../../../kit/text/terminal-text.ts';
import { isPublicName } from '../../../proxy/acme/names.ts';
import { checkPorts } from '../doctor/checks/listeners.ts';
import { dialProblem } from '../doctor/dial.ts';
import { printable } from '../output/cell-text.ts';
import { requireReadableProgram } from '../service/install-service.ts';
import { isAgreed } from '../shared-flags.ts';
import type { ServerPlan, UpPorts, UpRequest, WantedUp } from './wanted-up.ts';

/** Whether the server can start. Prints what stands against it, and warnings about the rest. Nothing is changed yet. */
export async function checkMachine(request: UpRequest, plan: ServerPlan): Promise<boolean> {
  const { context, ports } = request;
  if (!plan.isRunning) {
    if (plan.place.service !== null) requireReadableProgram({ plan: plan.place.service, ports: ports.service });
    if (!(await hasPorts(request, plan))) return false;
  }
  for (const line of await recordLines(hostsOf(request.wanted, plan), ports)) context.print(printable(line));
  for (const warning of await warningsAbout(request, plan)) context.warn(printable(`postern: warning: ${warning}`));
  return isHostMeant(request);
}

/** The site, the console and the identity host, as far as this command is about them. */
function hostsOf({ host, login, console }: WantedUp, { facts }: ServerPlan): readonly string[] {
  const identity = identityAddress(login === 'own' || console !== null ? facts.identityHost : null);
  return [host, console, identity?.hostname].filter((name) => typeof name === 'string');
}

/** A host that DNS does not know is often a mistyped one. Without a terminal the warning must do. */
async function isHostMeant({ wanted, parsed, context, ports }: UpRequest): Promise<boolean> {
  if (context.ask === undefined || wanted.target === null || !(await isUnknownToDns(wanted.host, ports))) return true;
  const question = `DNS does not know ${wanted.host}, so nobody can visit it yet. Is the name right?`;
  if (await isAgreed(parsed, context, printable(question))) return true;
  context.warn('postern: nothing was changed');
  return false;
}

async function hasPorts({ typed, context, ports }: UpRequest, { next }: ServerPlan): Promise<boolean> {
  const findings = await checkPorts({ config: next.config, isLocal: true, nowMs: ports.nowMs() });
  const problems = findings.filter(({ level }) => level === 'problem');
  if (problems.length === 0) return true;
  for (const { message, advice } of problems) {
    context.warn(`postern: ${message}`);
    if (advice !== undefined) context.warn(`  ${advice}`);
  }
  if (!ports.service.isRoot() && problems.some(({ message }) => message.includes('permission denied'))) {
    const words = ['sudo', ...ports.service.ownCommand(), 'up', ...typed].map(shellWord);
    context.warn(
      'Ports below 1024 require root. Run this, or choose other ports with --edge-listen and --edge-http-listen:',
    );
    context.print(words.join(' '));
  }
  context.warn('postern: nothing was changed');
  return false;
}

async function warningsAbout(request: UpRequest, plan: ServerPlan): Promise<readonly string[]> {
  const { facts, changes, isRunning } = plan;
  const { wanted, ports } = request;
  const { host, target, login } = wanted;
  const identity = identityAddress(login === 'own' || wanted.console !== null ? facts.identityHost : null);
  const hosts = hostsOf(wanted, plan);
  const warnings = (await Promise.all(hosts.map((name) => dnsWarnings(name, ports)))).flat();
  if (identity !== null && changes.has('identity_host'))
    warnings.push(
      `people will log in at ${identity.hostname}, and their passkeys belong to that name. Choose another now if you want one: --identity-host NAME`,
    );
  if (isRunning && facts.isLocalOnly && !isLoopbackHost(host))
    warnings.push('the server that runs listens on this machine only. To let others in, add --edge-listen [::]:443');
  if (isRunning && !facts.isAcmeOn && isPublicName(host))
    warnings.push('the server that runs orders no public certificates. To order them, add --acme on');
  const silent = target === null ? null : await silentTarget(target);
  return silent === null ? warnings : [...warnings, silent];
}

async function silentTarget(target: WantedTarget): Promise<string | null> {
  if (target.kind !== 'address') return null;
  const { hostname, port } = new URL(`http://${target.address}`);
  const problem = await dialProblem({ host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || 80) });
  return problem === null ? null : `nothing answers at ${target.address} yet (${problem}): start the service there`;
}

type DnsPorts = Pick<UpPorts, 'records' | 'ownAddresses'>;

const isPublic = publicAddressGuard([]);

/**
 * What keeps visitors and ACME servers from finding a host here. Never a reason to stop: behind NAT no interface has
 * the public address, and records may be on their way.
 */
async function dnsWarnings(host: string, ports: DnsPorts): Promise<readonly string[]> {
  if (isLoopbackHost(host)) return [];
  const found = await ports.records(host).catch(() => null);
  if (found === null) return [`DNS does not answer for ${host}, so its records could not be checked`];
  const own = ports.ownAddresses().map(normal);
  const publicOf = (family: 4 | 6): string | undefined =>
    own.find((each) => isPublic(each) && each.includes(':') === (family === 6));
  if (found.v4.length === 0 && found.v6.length === 0) {
    const address = publicOf(4) ?? 'the public address of this machine';
    return [`${host} has no address in DNS: create an A record with ${address}`];
  }
  const foreign = (all: readonly string[]): readonly string[] => all.filter((each) => !own.includes(normal(each)));
  const [v4, v6] = [foreign(found.v4), foreign(found.v6)];
  const right = publicOf(6);
  return [
    ...(v4.length === 0
      ? []
      : [
          `${host} resolves to ${v4.join(', ')}, which is no address of this machine: normal behind NAT or a load balancer, wrong otherwise`,
        ]),
    ...(v6.length === 0
      ? []
      : [
          `${host} has the AAAA record ${v6.join(', ')}, which is no address of this machine. Visitors and ACME servers try IPv6 first: ${right === undefined ? 'remove the record' : `correct it to ${right}, or remove it`}`,
        ]),
  ];
}

/** The records that the hosts need, each with what DNS has now. Names of this machine need none. */
async function recordLines(hosts: readonly string[], ports: DnsPorts): Promise<readonly string[]> {
  const named = hosts.filter((host) => !isLoopbackHost(host));
  if (named.length === 0) return [];
  const own = ports.ownAddresses().find((each) => isPublic(normal(each)) && !each.includes(':'));
  const lines = named.map(async (host) => {
    const found = await ports.records(host).catch(() => null);
    const has = [
      ...(found?.v4 ?? []).map((address) => `A ${address}`),
      ...(found?.v6 ?? []).map((address) => `AAAA ${address}`),
    ];
    const missing = found === null ? 'DNS does not answer' : `none yet: A ${own ?? '(public address of this machine)'}`;
    return `  ${host.padEnd(Math.max(...named.map(({ length }) => length)))}  ${has.length > 0 ? has.join(', ') : missing}`;
  });
  return ['DNS records that this needs:', ...(await Promise.all(lines))];
}

/** Whether DNS answers, and has no address for the host. */
async function isUnknownToDns(host: string, ports: DnsPorts): Promise<boolean> {
  if (isLoopbackHost(host)) return false;
  const found = await ports.records(host).catch(() => null);
  return found !== null && found.v4.length === 0 && found.v6.length === 0;
}

/**
 * The name for the identity host: `id` beside the host if DNS leads it to the same place, otherwise `id` below it.
 * Without DNS nobody can tell whether the domain above belongs to the same people: the one above `shop.co.uk` does not.
 */
export async function identityHostFor(host: string, { records }: Pick<DnsPorts, 'records'>): Promise<string> {
  const above = host.slice(host.indexOf('.') + 1);
  const beside = `id.${above}`;
  if (!host.includes('.')) return `id.${host}`;
  // No registry sells names below these.
  if (!isPublicName(host)) return beside;
  const none = { v4: [], v6: [] };
  const [there, here] = await Promise.all([beside, host].map((name) => records(name).catch(() => none)));
  const addresses = new Set([...(here?.v4 ?? []), ...(here?.v6 ?? [])].map(normal));
  const isSame = [...(there?.v4 ?? []), ...(there?.v6 ?? [])].some((each) => addresses.has(normal(each)));
  return isSame ? beside : `id.${host}`;
}

function normal(address: string): string {
  return parseAddress(address)?.toString() ?? address;
}
