import { networkInterfaces } from 'node:os';
import { usage } from '../../../../kit/flags.ts';
import { TokenBucket } from '../../../../kit/token-bucket.ts';
import type { AgentHandle, TunnelSpec } from '../../../../tunnel/agent/handle.ts';
import { MAX_TUNNELS_PER_SESSION } from '../../../../tunnel/protocol/protocol.ts';
import { printable } from '../../output/cell-text.ts';
import type { AgentPorts } from '../agent-ports.ts';
import { type AgentConfig, type DockerDefaults, NO_DOCKER_CONFIG, type TunnelConfig } from '../config/agent-config.ts';
import { refusalText } from '../event-text.ts';
import { besideFile, readCertificates, tunnelSpecs } from '../tunnel-specs.ts';
import { reachOf } from './container.ts';
import { ContainerWatch, type Reading } from './container-watch.ts';
import { type EngineAddress, engineAddress, engineText, usualSockets } from './engine-address.ts';
import { EngineClient } from './engine-client.ts';
import { type Allowed, type Rejection, type Wanted, type WantedTunnel, wantedTunnels } from './wanted-tunnels.ts';

/** A service that is replaced by its successor keeps its hosts and labels for this long. */
const KEPT_MS = 60_000;
/**
 * The server ends the connection of an agent that sends 2,000 messages at once; each tunnel comes and goes with one.
 */
const OPENED_PER_MINUTE = 800;

/** `postern start --docker`. */
export interface DockerSource {
  readonly engine: EngineAddress;
  readonly allowed: Allowed & { readonly upstreamTls?: TunnelSpec['upstreamTls'] };
  readonly sharedLabels: readonly string[];
}

export interface DockerTunnelsParts {
  readonly source: DockerSource;
  readonly agent: Pick<AgentHandle, 'tunnels' | 'openTunnel' | 'closeTunnel' | 'moveTunnel' | 'reportProblems'>;
  /** A line for the agent's log. */
  readonly note: (level: 'info' | 'warn', message: string, fields?: Readonly<Record<string, unknown>>) => void;
  readonly interfaces?: typeof networkInterfaces;
}

interface Open {
  readonly ref: number;
  /** The spec without its addresses. */
  readonly settings: string;
  readonly addr: readonly string[];
}

/** Publishes containers as tunnels of the agent, and keeps the two alike. */
export class DockerTunnels {
  readonly #parts: DockerTunnelsParts;
  readonly #watch: ContainerWatch;
  readonly #open = new Map<string, Open>();
  /** Which service has which host and label, and when that was seen last. */
  readonly #held = new Map<string, { readonly service: string; readonly atMs: number }>();
  readonly #others: readonly TunnelSpec[];
  /** Containers that restart again and again must not cost the others their connection. */
  readonly #openings = new TokenBucket(OPENED_PER_MINUTE);
  /** Tunnels that a later reading opens. */
  #postponed = 0;
  #rejections: readonly Rejection[] = [];
  #omitted = 0;
  /** Undefined: the engine was not read yet. */
  #engineProblem: string | null | undefined;

  constructor(parts: DockerTunnelsParts) {
    this.#parts = parts;
    this.#others = parts.agent.tunnels.map(({ spec }) => spec);
    this.#watch = new ContainerWatch({
      client: new EngineClient(parts.source.engine),
      onReading: (reading) => this.#apply(reading),
      onProblem: (problem) => this.#engine(problem),
    });
  }

  close(): Promise<void> {
    return this.#watch.close();
  }

  /** The server accepted or refused a tunnel. */
  tunnelChanged(): void {
    this.#reportProblems();
  }

  #apply({ containers, listed, omitted }: Reading): void {
    const { source, interfaces = networkInterfaces } = this.#parts;
    const { engine } = source;
    const isLocal = 'socketPath' in engine || engine.isLoopback;
    const nowMs = performance.now();
    for (const [claim, { atMs }] of this.#held) if (nowMs - atMs > KEPT_MS) this.#held.delete(claim);
    const wanted = wantedTunnels(containers, {
      allowed: source.allowed,
      sharedLabels: new Set(source.sharedLabels),
      reach: reachOf(listed, interfaces(), isLocal),
      others: this.#others,
      held: new Map([...this.#held].map(([claim, { service }]) => [claim, service])),
      maxTunnels: MAX_TUNNELS_PER_SESSION - this.#others.length,
    });
    for (const [claim, service] of wanted.holders) this.#held.set(claim, { service, atMs: nowMs });
    this.#reconcile(wanted.tunnels);
    this.#reportRejections(wanted, omitted);
    this.#reportProblems();
  }

  #reconcile(wanted: readonly WantedTunnel[]): void {
    const { agent } = this.#parts;
    const byKey = new Map(wanted.map((tunnel) => [tunnel.key, tunnel]));
    for (const [key, { ref, settings }] of this.#open) {
      const tunnel = byKey.get(key);
      if (tunnel !== undefined && settingsOf(tunnel) === settings) continue;
      this.#open.delete(key);
      agent.closeTunnel(ref);
    }
    this.#postponed = 0;
    for (const tunnel of wanted) {
      const { key, spec } = tunnel;
      const open = this.#open.get(key);
      if (open === undefined && this.#openings.waitMs(performance.now()) > 0) {
        this.#postponed += 1;
      } else if (open === undefined) {
        this.#openings.take();
        const { ref } = agent.openTunnel(spec);
        this.#open.set(key, { ref, settings: settingsOf(tunnel), addr: spec.addr });
      } else if (open.addr.join(' ') !== spec.addr.join(' ')) {
        agent.moveTunnel(open.ref, spec.addr);
        this.#open.set(key, { ...open, addr: spec.addr });
      }
    }
  }

  #reportRejections({ rejections }: Wanted, omitted: number): void {
    const { note } = this.#parts;
    const before = new Set(this.#rejections.map(lineOf));
    for (const rejection of rejections) {
      const { container, reason } = rejection;
      if (!before.has(lineOf(rejection)))
        note('warn', `${lineOf(rejection)}`, { event: 'container', container, rejected: true, reason });
    }
    const still = new Set(rejections.map(({ container }) => container));
    for (const container of new Set(this.#rejections.map((each) => each.container))) {
      if (!still.has(container))
        note('info', `container ${container}: no longer rejected`, { event: 'container', container, rejected: false });
    }
    if (omitted > 0 && omitted !== this.#omitted) note('warn', omittedLine(omitted));
    this.#rejections = rejections;
    this.#omitted = omitted;
  }

  #engine(problem: string | null): void {
    if (problem === this.#engineProblem) return;
    const { note, source } = this.#parts;
    const where = engineText(source.engine);
    if (problem !== null) note('warn', this.#engineLine(problem), { event: 'engine', engine: where, reason: problem });
    else note('info', `follows the containers of ${where}`, { event: 'engine', engine: where });
    this.#engineProblem = problem;
    this.#reportProblems();
  }

  #engineLine(problem: string): string {
    const where = engineText(this.#parts.source.engine);
    return `cannot follow the containers of ${where}: ${printable(problem)}; published containers stay as they are; retrying`;
  }

  #reportProblems(): void {
    const refs = new Set([...this.#open.values()].map(({ ref }) => ref));
    const refused = this.#parts.agent.tunnels.flatMap(({ ref, name, status, problem }) => {
      if (!refs.has(ref) || (status !== 'refused' && status !== 'waiting') || problem === null) return [];
      return [`${name}: the server rejected it: ${refusalText(problem, null)}`];
    });
    this.#parts.agent.reportProblems([
      ...(typeof this.#engineProblem === 'string' ? [this.#engineLine(this.#engineProblem)] : []),
      ...(this.#omitted > 0 ? [omittedLine(this.#omitted)] : []),
      ...(this.#postponed > 0 ? [postponedLine(this.#postponed)] : []),
      ...this.#rejections.map(lineOf),
      ...refused,
    ]);
  }
}

function settingsOf({ spec }: WantedTunnel): string {
  return JSON.stringify({ ...spec, addr: null });
}

function lineOf({ container, reason }: Rejection): string {
  return `container ${container}: rejected: ${printable(reason)}`;
}

function omittedLine(omitted: number): string {
  return `${omitted} more containers have labels than this agent follows: start another agent for some of them`;
}

function postponedLine(postponed: number): string {
  return `${postponed} containers wait: this agent publishes at most ${OPENED_PER_MINUTE} a minute. Look for containers that restart again and again`;
}

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
    ...{
      name: 'docker',
      addr: '1',
      files: null,
      proto: 'http',
      labels: null,
      schemes: null,
      domain: null,
      remotePort: null,
    },
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
