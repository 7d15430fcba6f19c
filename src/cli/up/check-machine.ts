import { isPublicName } from '../../acme/names.ts';
import { identityAddress } from '../../config/identity-settings.ts';
import { isLoopbackHost } from '../../lib/net/listen-address.ts';
import { shellWord } from '../../lib/text/shell-word.ts';
import type { WantedTarget } from '../../publish/wanted-edge.ts';
import { printable } from '../api/cell-text.ts';
import { checkPorts } from '../doctor/checks/listeners.ts';
import { dialProblem } from '../doctor/dial.ts';
import { isAgreed } from '../is-agreed.ts';
import { requireReadableProgram } from '../service/install-service.ts';
import type { ServerPlan, UpRequest } from './bring-up.ts';
import { dnsWarnings, isUnknownToDns, recordLines } from './check-dns.ts';
import type { WantedUp } from './wanted-up.ts';

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
