import { usage } from '../../../kit/flags.ts';
import { didYouMean } from '../../../kit/text/near-match.ts';
import type { TunnelSpec } from '../../../tunnel/agent/handle.ts';
import { createTextSource, type TextSource } from '../api/text-source.ts';
import { type Command, parseCommand } from '../command.ts';
import type { AgentPorts } from './agent-ports.ts';
import { START_SYNTAX } from './agent-syntax.ts';
import type { AgentConfig, TunnelConfig } from './config/agent-config.ts';
import { configPlaces, loadConfigFile } from './config/read-agent-config.ts';
import { dockerSource } from './docker/docker-tunnels.ts';
import { FlagValues } from './flag-values.ts';
import { runAgent } from './run-agent.ts';
import { runOptions, withDocker } from './run-options.ts';
import { besideFile, readCertificates, tunnelSpecs } from './tunnel-specs.ts';

/** `postern start`: tunnels of the configuration file. */
export function createStartCommand(ports: AgentPorts, source: TextSource = createTextSource()): Command {
  return {
    syntax: START_SYNTAX,
    run: async (args, context) => {
      const parsed = parseCommand(START_SYNTAX, args);
      const { positionals } = parsed;
      const given = new FlagValues(parsed);
      const isAll = given.switch('all') === true;
      const isDocker = given.switch('docker') === true;
      const hasNames = positionals.length > 0;
      if (isAll && hasNames) throw usage('name the tunnels to start, or use --all, not both');
      if (!isAll && !hasNames && !isDocker) throw usage('name the tunnels to start, or use --all or --docker');
      const file = await loadConfigFile(given.text('config') ?? undefined, context.env, ports.files);
      if (file === null && (isAll || hasNames)) throw noFile(context.env, ports);
      const chosen =
        file === null || !(isAll || hasNames) ? [] : chosenTunnels(file.config, file.path, isAll ? null : positionals);
      const specs = file === null ? [] : await specsOf(chosen, file.path, ports);
      const docker = isDocker ? await dockerSource(file, context.env, ports) : null;
      const options = await runOptions(specs, { flags: given, context, ports, source, file });
      return runAgent(docker === null ? options : withDocker(options, docker), ports, context);
    },
  };
}

/** Also used by `postern config check`. */
export async function specsOf(
  tunnels: readonly TunnelConfig[],
  path: string,
  { files }: Pick<AgentPorts, 'files'>,
): Promise<readonly TunnelSpec[]> {
  const specs = await Promise.all(
    tunnels.map((tunnel) =>
      tunnelSpecs(
        tunnel,
        (paths, key) => {
          const name = `${path}: tunnels.${tunnel.name}.${key}`;
          return readCertificates(
            paths.map((each) => besideFile(path, each)),
            name,
            files,
          );
        },
        (folder) => besideFile(path, folder),
      ),
    ),
  );
  return specs.flat();
}

export function noFile(env: Readonly<Record<string, string | undefined>>, { files }: AgentPorts): Error {
  return usage(
    `no configuration file: name one with --config, or create ${configPlaces(env, files.home).join(' or ')}`,
  );
}

function chosenTunnels(
  { tunnels }: AgentConfig,
  path: string,
  names: readonly string[] | null,
): readonly TunnelConfig[] {
  if (tunnels.length === 0) throw usage(`${path} defines no tunnels: add one below "tunnels:"`);
  if (names === null) return tunnels;
  const known = tunnels.map(({ name }) => name);
  return [...new Set(names)].map((name) => {
    const tunnel = tunnels.find((each) => each.name === name);
    if (tunnel !== undefined) return tunnel;
    throw usage(
      `${path} has no tunnel ${JSON.stringify(name)}.${didYouMean(name, known)} Its tunnels: ${known.join(', ')}`,
    );
  });
}
