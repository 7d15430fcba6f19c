import { peopleText } from '../../../client/publish/people-rules.ts';
import type { WantedPeople, WantedTarget } from '../../../client/publish/wanted-edge.ts';
import { isOn, type ParsedFlags, usage } from '../../../kit/flags.ts';
import type { AddressRecords } from '../../../proxy/acme/orders/dns-diagnosis.ts';
import type { LoadedConfig } from '../../settings/load.ts';
import { createTextSource } from '../api/text-source.ts';
import type { CommandContext } from '../command.ts';
import type { DoctorPorts } from '../doctor/installation.ts';
import { type Guards, parsePeople, parseSite, parseTarget, readGuards } from '../edge/edge-arguments.ts';
import type { ServicePorts } from '../service/service-ports.ts';
import type { ServerFacts } from './reach-server.ts';
import type { Settings, SettingsPlace } from './up-settings.ts';

/** `keep`: no flag says anything about it. */
type LoginWish = 'own' | 'none' | 'keep';

/** What the command line of `postern up` says. */
export interface WantedUp {
  readonly host: string;
  readonly port: number | null;
  /** Null: where it goes already. */
  readonly target: WantedTarget | null;
  readonly login: LoginWish;
  readonly people: WantedPeople;
  /** Passwords, addresses and the Host header, as far as flags name them. */
  readonly guards: Guards;
  /** Host of the console; null: it listens on the machine of the server only, or stays as it is. */
  readonly console: string | null;
}

export async function parseUp(parsed: ParsedFlags, context: Pick<CommandContext, 'ask'>): Promise<WantedUp> {
  const { flags, positionals } = parsed;
  const { host, port, path } = parseSite(positionals, 'up', flags);
  if (path !== '/')
    throw usage('postern up publishes a whole host: use "postern edge HOST/PATH --to TARGET" for a path of it');
  if (host.startsWith('*.')) throw usage('postern up publishes one host: use "postern edge" for a wildcard');
  if (host.includes('_'))
    throw usage(`no certificate authority signs "${host}": names of sites have letters, digits and hyphens only`);
  const people = parsePeople(parsed);
  const login = isOn(parsed, 'login') ? 'own' : flags.get('login') === 'false' ? 'none' : 'keep';
  if (login === 'none' && peopleText(people) !== null)
    throw usage(
      '--no-login lets everybody in: it cannot be used with --allow-email, --allow-email-domain or --allow-groups',
    );
  const target = flags.has('to') ? parseTarget(flags.get('to')) : null;
  const console = consoleHost(flags, host);
  const guards = await readGuards(parsed, createTextSource(), context);
  return { host, port, target, login, people, guards, console };
}

function consoleHost(flags: ReadonlyMap<string, string>, site: string): string | null {
  const given = flags.get('console');
  if (given === undefined) return null;
  const { host, port, path } = parseSite([given], 'up');
  if (port !== null || path !== '/' || host.startsWith('*.'))
    throw usage('--console takes a host: --console console.example.com');
  if (host === site) throw usage('--console needs a host of its own: --console console.example.com');
  if (flags.has('api-url')) throw usage('--console sets api_url: leave --api-url out');
  return host;
}

/** The machine and the world around it, as far as `postern up` touches them. */
export interface UpPorts extends DoctorPorts {
  readonly service: ServicePorts;
  /** What DNS and the hosts file say. Rejects if DNS does not answer. */
  records(host: string): Promise<AddressRecords>;
  /** Addresses of this machine's interfaces. */
  ownAddresses(): readonly string[];
  /** How long to wait for certificates that are on order. */
  readonly certificateWaitMs: number;
  /** Runs `postern server` with these arguments in this process. */
  serve(args: readonly string[], context: CommandContext): ServerHere;
  /** Replaces the server that runs with this data directory, as `postern restart` does. Resolves to the exit code. */
  restart(dataDir: string, context: CommandContext): Promise<number>;
}

interface ServerHere {
  /** The server's exit code. Rejects if the server cannot start. */
  readonly ended: Promise<number>;
  /** Stops it, and lets the command fail. */
  stop(): void;
}

export interface UpRequest {
  readonly wanted: WantedUp;
  readonly parsed: ParsedFlags;
  /** What was typed after "postern up", to be repeated with privileges. */
  readonly typed: readonly string[];
  readonly context: CommandContext;
  readonly ports: UpPorts;
}

export interface ServerPlan {
  readonly place: SettingsPlace;
  /** With all settings as planned. */
  readonly next: LoadedConfig;
  readonly facts: ServerFacts;
  readonly isRunning: boolean;
  /** Whether a server that runs has all of the changes already. */
  readonly isInEffect: boolean;
  /** Settings to write. */
  readonly changes: Settings;
  /** Settings that the command line names. */
  readonly given: Settings;
}
