import { join } from 'node:path';
import { usage } from '../../../kit/flags.ts';
import { shellWord } from '../../../kit/text/terminal-text.ts';
import { loadConfig } from '../../settings/load.ts';
import { flagOf, settingNames, variableOf } from '../../settings/schema.ts';
import type { CommandContext } from '../command.ts';
import { serviceErrors } from './errors.ts';
import type { ServicePlan } from './installed-server.ts';
import type { ServicePorts } from './service-ports.ts';
import { readEnvironment, unitText, withVariable } from './unit-text.ts';

const SECRET_MODE = 0o600;
const UNIT_MODE = 0o644;
const CONFIG_FLAG = 'config';
const CONFIG_VARIABLE = 'POSTERN_CONFIG';

export interface ServiceRequest {
  readonly plan: ServicePlan;
  /** Settings of the server from the command line, by flag. */
  readonly settings: ReadonlyMap<string, string>;
  readonly isStarted: boolean;
  /** What was typed after "postern service", to be repeated with privileges. */
  readonly typed: readonly string[];
  readonly context: CommandContext;
  readonly ports: ServicePorts;
}

export async function installService(request: ServiceRequest): Promise<number> {
  const { plan, context, ports } = request;
  if (lacksPrivileges(request)) return 1;
  requireSystemd(request);
  requireReadableProgram(request);
  if (plan.role === 'agent') requireAgentConfig(request);
  const environment = await environmentText(request);
  await ports.write(join(plan.root, plan.environmentFile), environment, SECRET_MODE);
  await ports.write(join(plan.root, plan.unitFile), unitText(plan), UNIT_MODE);
  context.print(`wrote ${join(plan.root, plan.unitFile)}`);
  context.print(`wrote ${join(plan.root, plan.environmentFile)} (settings, readable only by its owner)`);
  if (plan.root !== '' || !request.isStarted) {
    context.print(`Start it with: ${systemctlText(plan)} enable --now ${plan.name}`);
    return 0;
  }
  const wasActive = run(request, ['is-active', '--quiet', plan.name]).isDone;
  for (const args of [['daemon-reload'], ['enable', plan.name], ...(wasActive ? [] : [['start', plan.name]])]) {
    const { isDone, output } = run(request, args);
    if (!isDone) throw failed(`${systemctlText(plan)} ${args.join(' ')} failed: ${output}. See: ${journal(plan)}`);
  }
  context.print(
    wasActive
      ? `${plan.name} was running and still runs with its old settings: ${systemctlText(plan)} restart ${plan.name}`
      : `${plan.name} runs, and starts at every boot.`,
  );
  context.print(`Its log: ${journal(plan)}`);
  if (plan.role === 'server' && !plan.isOfUser)
    context.print(`Its data is in /var/lib/${plan.name}, with the first API key in first-api-key.`);
  return 0;
}

export async function uninstallService(request: ServiceRequest): Promise<number> {
  const { plan, context, ports, settings } = request;
  const [flag] = settings.keys();
  if (flag !== undefined) throw usage(`postern service uninstall takes no --${flag}: settings and data stay`);
  if (lacksPrivileges(request)) return 1;
  const unitFile = join(plan.root, plan.unitFile);
  if (!ports.exists(unitFile)) throw failed(`there is no ${unitFile}: ${plan.name} is not installed`);
  const isLive = plan.root === '' && ports.hasSystemd();
  if (isLive) {
    const { isDone, output } = run(request, ['disable', '--now', plan.name]);
    if (!isDone) throw failed(`${systemctlText(plan)} disable --now ${plan.name} failed: ${output}`);
  }
  ports.remove(unitFile);
  if (isLive) run(request, ['daemon-reload']);
  context.print(`deleted ${unitFile}`);
  context.print(`${plan.environmentFile} and the data of the service stay.`);
  return 0;
}

/** The file as it stands with the given settings. Checked first: a service that cannot start helps nobody. */
async function environmentText({ plan, settings, context, ports }: ServiceRequest): Promise<string> {
  const { role, environmentFile, root } = plan;
  let text = ports.read(join(root, environmentFile)) ?? '';
  if (role === 'agent' && settings.size > 0)
    throw usage(
      `postern service install agent takes no --${[...settings.keys()][0]}: the agent's settings are in ${plan.agentConfig}`,
    );
  for (const [flag, value] of settings) {
    const setting = settingNames.find((name) => flagOf(name) === flag);
    const variable = flag === CONFIG_FLAG || setting === undefined ? CONFIG_VARIABLE : variableOf(setting);
    text = withVariable(text, variable, value);
  }
  if (role === 'server') {
    const given = Object.fromEntries(readEnvironment(text));
    // A file inside an image cannot be read from here.
    if (root === '' || given[CONFIG_VARIABLE] === undefined) {
      const readText = (path: string): string => ports.read(path) ?? missingFile(path);
      for (const warning of loadConfig({ flags: new Map(), env: given, readText }).warnings)
        context.warn(`postern: warning: ${warning}`);
    }
  }
  return text === ''
    ? `# Settings of ${plan.name}, one NAME="value" per line. Apply them with: ${systemctlText(plan)} restart ${plan.name}\n`
    : text;
}

function lacksPrivileges({ plan, typed, context, ports }: ServiceRequest): boolean {
  if (plan.isOfUser || plan.root !== '' || ports.isRoot()) return false;
  const words = ['sudo', ...ports.ownCommand(), 'service', ...typed].map(shellWord);
  context.warn('postern: a service of the system requires root. Run this, or add --user for a service of your own:');
  context.print(words.join(' '));
  return true;
}

function requireSystemd({ plan, isStarted, ports }: ServiceRequest): void {
  if (plan.root !== '' || !isStarted || ports.hasSystemd()) return;
  throw failed(
    'systemd does not manage this machine (there is no /run/systemd/system). "postern service print" prints the unit, --no-start writes the files only',
  );
}

/** The service runs as another user, in a sandbox without home directories. */
export function requireReadableProgram({ plan, ports }: Pick<ServiceRequest, 'plan' | 'ports'>): void {
  if (plan.isOfUser || plan.root !== '') return;
  for (const word of plan.command) {
    const isInHome = /^\/(home|root|run\/user|tmp|var\/tmp)\//.test(word);
    const closed = isInHome ? word : ports.closedTo(word);
    if (closed === null) continue;
    throw failed(
      `the service cannot read ${closed}: install the program for all users first, for example as /usr/local/bin/postern, and run that one`,
    );
  }
}

function requireAgentConfig({ plan, ports }: ServiceRequest): void {
  const file = join(plan.root, plan.agentConfig);
  if (ports.exists(file)) return;
  throw failed(`there is no ${file}: describe the tunnels in it first, or name another file with --agent-config`);
}

function run({ plan, ports }: ServiceRequest, args: readonly string[]): ReturnType<ServicePorts['systemctl']> {
  return ports.systemctl([...(plan.isOfUser ? ['--user'] : []), ...args]);
}

function systemctlText({ isOfUser }: ServicePlan): string {
  return isOfUser ? 'systemctl --user' : 'systemctl';
}

function journal({ isOfUser, name }: ServicePlan): string {
  return `journalctl ${isOfUser ? '--user-unit' : '--unit'} ${name}`;
}

function missingFile(path: string): never {
  throw failed(`there is no ${path}, which the settings of the service name`);
}

function failed(message: string): Error {
  return serviceErrors.create('ERR_POSTERN_SERVICE', message);
}
