import { summaryOf } from '../../../modules/agent-modules.ts';
import { type Command, type CommandContext, parseCommand } from '../command.ts';
import type { AgentPorts } from './agent-ports.ts';
import { CONFIG_SYNTAX } from './agent-syntax.ts';
import type { AgentConfig, DockerConfig, TunnelConfig } from './config/agent-config.ts';
import { type ConfigFile, examineAgentConfig, findConfigFile } from './config/read-agent-config.ts';
import { defaultSpec } from './docker/docker-tunnels.ts';
import { labelsText } from './event-text.ts';
import { FlagValues } from './flag-values.ts';
import { moduleForms } from './module-forms.ts';
import { serverAddrOf } from './run-options.ts';
import { noFile, specsOf } from './start-command.ts';
import { besideFile, publishedAs, readCertificates } from './tunnel-specs.ts';

/** `postern config check`. */
export function createConfigCommand(ports: AgentPorts): Command {
  return {
    syntax: CONFIG_SYNTAX,
    run: async (args, context) => {
      const flags = new FlagValues(parseCommand(CONFIG_SYNTAX, args));
      const file = await findConfigFile(flags.text('config') ?? undefined, context.env, ports.files);
      if (file === null) throw noFile(context.env, ports);
      return check(file, flags, context, ports);
    },
  };
}

/** As an agent that is started with the file. */
const EXIT_INVALID = 78;
/** A wrong file may have one on each line. */
const MAX_PROBLEMS = 100;

async function check(file: ConfigFile, flags: FlagValues, context: CommandContext, ports: AgentPorts): Promise<number> {
  const reading = examineAgentConfig(file.text, file.path);
  if (!reading.ok) {
    for (const problem of reading.problems.slice(0, MAX_PROBLEMS)) context.warn(problem);
    const more = reading.problems.length - MAX_PROBLEMS;
    if (more > 0) context.warn(`postern: ${more} more problems are not shown`);
    return EXIT_INVALID;
  }
  const { config } = reading;
  await readFiles(config, file.path, ports);
  const server = serverAddrOf({ flags, context, file: { ...file, config } });
  context.print(`${file.path} is valid.`);
  context.print(`Server: ${server}`);
  if (config.tunnels.length === 0) context.print('The file defines no tunnels.');
  for (const tunnel of config.tunnels) for (const line of tunnelLines(tunnel)) context.print(line);
  if (config.docker !== null) context.print(dockerLine(config.docker));
  return 0;
}

/** Finds missing or malformed certificates before they are needed. */
async function readFiles(config: AgentConfig, path: string, ports: AgentPorts): Promise<void> {
  const rootCas = config.rootCas.map((each) => besideFile(path, each));
  await readCertificates(rootCas, `${path}: root_cas`, ports.files);
  await specsOf(config.tunnels, path, ports);
  if (config.docker !== null) await defaultSpec(config.docker.defaults, path, ports.files);
}

/** What every container gets. */
function dockerLine({ socket, defaults }: DockerConfig): string {
  const { modules, allowGroups, allowEmails, allowPublic } = defaults;
  const rules = [
    ...moduleForms().flatMap((form) => summaryOf(form, modules[form.module])),
    ...(allowGroups.length > 0 ? [`groups ${allowGroups.join(', ')}`] : []),
    ...(allowEmails.length > 0 ? [`people ${allowEmails.join(', ')}`] : []),
    allowPublic ? 'public ones allowed' : 'public ones rejected',
  ];
  return `containers (--docker): labels → ${socket ?? 'Docker or Podman on this machine'} (${rules.join(', ')})`;
}

function tunnelLines(tunnel: TunnelConfig): readonly string[] {
  const extras = [
    ...moduleForms().flatMap((form) => summaryOf(form, tunnel.modules[form.module])),
    ...(tunnel.inspect ? [] : ['not inspected']),
  ];
  const more = extras.length === 0 ? '' : ` (${extras.join(', ')})`;
  return publishedAs(tunnel).map(({ name, proto, labels }) => {
    const from = labels === undefined ? addressText(tunnel, proto ?? 'tcp') : `labels ${labelsText(labels)}`;
    return `${name}: ${from} → ${tunnel.files?.folder ?? tunnel.addr}${more}`;
  });
}

function addressText({ domain, remotePort }: TunnelConfig, proto: string): string {
  if (proto === 'tcp') return `tcp://(server):${remotePort ?? '(a free port)'}`;
  return `${proto}://${domain ?? '(name chosen by the server)'}`;
}
