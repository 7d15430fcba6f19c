import type { TunnelSpec } from '../../../agent/options.ts';
import { usage } from '../../../lib/flags.ts';
import type { AgentPorts } from '../agent-ports.ts';
import { besideFile, readCertificates } from '../certificates.ts';
import type { AgentConfig, TunnelConfig } from '../config/agent-config.ts';
import { tunnelSpecs } from '../tunnel-specs.ts';
import { type DockerDefaults, NO_DOCKER_CONFIG } from './docker-config.ts';
import type { DockerSource } from './docker-tunnels.ts';
import { type EngineAddress, engineAddress, usualSockets } from './engine-address.ts';

/** Where containers are read, and what the agent's file allows them. */
export async function dockerSource(
  file: { readonly path: string; readonly config: AgentConfig } | null,
  env: Readonly<Record<string, string | undefined>>,
  { files }: Pick<AgentPorts, 'files'>,
): Promise<DockerSource> {
  const { socket, defaults, sharedLabels } = file?.config.docker ?? NO_DOCKER_CONFIG;
  const { modules = {}, upstreamTls } = await defaultSpec(defaults, file?.path ?? '', files);
  const { allowGroups, allowEmails, allowPublic } = defaults;
  return {
    engine: await engineOf(socket, env, files),
    allowed: { modules, allowGroups, allowEmails, allowPublic, ...(upstreamTls !== undefined && { upstreamTls }) },
    sharedLabels,
  };
}

async function engineOf(
  socket: string | null,
  env: Readonly<Record<string, string | undefined>>,
  files: AgentPorts['files'],
): Promise<EngineAddress> {
  const variable = env['DOCKER_HOST'] || null;
  const given = socket ?? variable;
  if (given !== null) {
    const address = engineAddress(given);
    if (!('problem' in address)) return address;
    throw usage(`${socket === null ? 'DOCKER_HOST' : 'docker.socket'} ${address.problem}`);
  }
  const places = usualSockets(env);
  for (const path of places) if (await files.exists(path)) return { socketPath: path };
  throw usage(`no socket of Docker or Podman at ${places.join(', ')}: set docker.socket in the file, or DOCKER_HOST`);
}

/** With certificates instead of file names, as in a tunnel of the file. */
export async function defaultSpec(
  { modules, upstreamTls }: DockerDefaults,
  path: string,
  files: AgentPorts['files'],
): Promise<Partial<TunnelSpec>> {
  const tunnel: TunnelConfig = {
    ...{ name: 'docker', addr: '1', proto: 'http', labels: null, schemes: null, domain: null, remotePort: null },
    ...{ metadata: null, hostHeader: null, inspect: true, modules, upstreamTls },
  };
  const [spec] = await tunnelSpecs(tunnel, (paths, key) =>
    readCertificates(
      paths.map((each) => besideFile(path, each)),
      `${path}: docker.defaults.${key}`,
      files,
    ),
  );
  return spec ?? {};
}
