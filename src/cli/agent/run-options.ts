import type { AgentOptions, TunnelSpec } from '../../agent/options.ts';
import { usage } from '../../lib/flags.ts';
import { type ListenAddress, parseListenAddress } from '../../lib/net/listen-address.ts';
import { LOG_FORMATS, LOG_LEVELS } from './agent-flags.ts';
import { hostPortProblem } from './config/read-agent-config.ts';
import { metadataProblem } from './config/text-problems.ts';
import type { DockerSource } from './docker/docker-tunnels.ts';
import { type Surroundings, serverAccess } from './server-access.ts';

const DEFAULT_INSPECTOR: ListenAddress = { host: '127.0.0.1', port: 7040 };

export type LogFormat = (typeof LOG_FORMATS)[number];
export type LogLevel = (typeof LOG_LEVELS)[number];

interface InspectorPlace {
  readonly listen: ListenAddress;
  readonly isChosen: boolean;
}

/** All options of one run of the agent. */
export interface RunOptions {
  readonly agent: AgentOptions;
  /** Null: disabled, or there would be nothing to see. */
  readonly inspector: InspectorPlace | null;
  /** Null: disabled. */
  readonly chosenInspector: InspectorPlace | null;
  /** Containers that are published. */
  readonly docker: DockerSource | null;
  readonly logLevel: LogLevel;
  /** Null: the live view on a terminal, otherwise text. */
  readonly logFormat: LogFormat | null;
}

export async function runOptions(tunnels: readonly TunnelSpec[], around: Surroundings): Promise<RunOptions> {
  const { flags, context, file } = around;
  const logFormat = flags.oneOf('log-format', LOG_FORMATS);
  const fromEnv = LOG_LEVELS.find((level) => level === context.env['POSTERN_LOG_LEVEL']);
  const logLevel = flags.oneOf('log-level', LOG_LEVELS) ?? fromEnv ?? 'info';
  const inspector = inspectorOf(around);
  const isInspected = ({ proto, inspect }: TunnelSpec): boolean =>
    inspect !== false && proto !== 'tcp' && proto !== 'tls';
  const metadata = flags.text('metadata', metadataProblem) ?? file?.config.metadata ?? null;
  const remoteManagement = flags.switch('remote-management') ?? file?.config.remoteManagement ?? null;
  return {
    agent: {
      ...(await serverAccess(around)),
      ...(metadata !== null && { metadata }),
      ...(remoteManagement !== null && { remoteManagement }),
      tunnels,
    },
    inspector: tunnels.some(isInspected) ? inspector : null,
    chosenInspector: inspector,
    docker: null,
    logLevel,
    logFormat,
  };
}

/** Tunnels come and go with containers. */
export function withDocker(options: RunOptions, docker: DockerSource): RunOptions {
  return {
    ...options,
    docker,
    agent: { ...options.agent, isOpenEnded: true },
    inspector: options.chosenInspector,
  };
}

function inspectorOf({ flags, file }: Surroundings): RunOptions['inspector'] {
  const flag = flags.text('inspect-addr', hostPortProblem);
  const isOn = flags.switch('inspect');
  if (isOn === false && flag !== null) throw usage('--inspect-addr cannot be used with --no-inspect');
  const inFile = file?.config.inspectAddr ?? null;
  if (isOn === false || (isOn === null && flag === null && inFile === false)) return null;
  const chosen = flag ?? (inFile === false ? null : inFile);
  const listen = chosen === null ? null : parseListenAddress(chosen);
  return { listen: listen ?? DEFAULT_INSPECTOR, isChosen: listen !== null };
}
