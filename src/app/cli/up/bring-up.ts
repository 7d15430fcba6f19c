import { realpathSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { peopleText } from '../../../client/publish/people-rules.ts';
import type { Transport } from '../../../client/transport.ts';
import { identityAddress } from '../../../control/identity/contracts.ts';
import { isIn } from '../../../kit/files/open-file.ts';
import type { WireValue } from '../../../kit/settings/setting.ts';
import type { LoadedConfig } from '../../settings/load.ts';
import { settingOf } from '../../settings/schema.ts';
import { dialled } from '../doctor/dial.ts';
import { administratorLink, loginLink } from '../open/login-link.ts';
import { sayWhileSlow, terminalWidth, wholeWords } from '../output/terminal.ts';
import { installService } from '../service/install-service.ts';
import { checkMachine, identityHostFor } from './check-machine.ts';
import { upFailed } from './errors.ts';
import { checkSecretDestinations } from './found-settings.ts';
import {
  type ConsolePlace,
  consoleLines,
  consoleSite,
  type PublishedSite,
  publishSite,
  requireTarget,
  withNamedPeople,
} from './publish-site.ts';
import {
  connectionFlags,
  factsInEffect,
  factsOf,
  isRunning,
  openServer,
  readConfigFile,
  readSettings,
  type ServerFacts,
  type ShownSettings,
  serverUrl,
  untilRunning,
} from './reach-server.ts';
import { certificateLines, summaryLines } from './summary-lines.ts';
import {
  agreedSettings,
  editedText,
  everywhere,
  findSettings,
  givenSettings,
  isOwnNewFile,
  loadSettings,
  missingSettings,
  type Settings,
  type SettingsPlace,
  standardSettings,
  writeSettings,
} from './up-settings.ts';
import type { ServerPlan, UpPorts, UpRequest, WantedUp } from './wanted-up.ts';

const EXIT_FAILED = 1;
const OLD_ANSWERS_MS = 5_000;
const LOOK_AGAIN_MS = 100;

/**
 * Checks, then settings, then the server, then the site. Each step leaves what is there already, so a run that was
 * interrupted can be repeated.
 */
export async function bringUp(typed: UpRequest): Promise<number> {
  const { parsed, context, ports } = typed;
  const place = findSettings(parsed.flags, context, ports.service);
  const former = loadSettings(place);
  await checkSecretDestinations({ place, loaded: former }, context);
  const looking = (): string => 'looking for a server that runs here';
  const plan = await sayWhileSlow(context, looking, () => planServer(typed, place, former));
  // A server that was never there serves nothing: its settings need not be written to find that out.
  const hasNoData = !plan.isRunning && !ports.service.exists(plan.next.config.data_dir);
  if (hasNoData && place.text === null) requireTarget(typed.wanted);
  requirePort(typed.wanted, plan.facts);
  // A server that is there may have rules for the host, which stay.
  const request = hasNoData ? { ...typed, wanted: await withNamedPeople(typed.wanted, parsed, context) } : typed;
  if (!(await checkMachine(request, plan))) return EXIT_FAILED;
  const agreed = await agreedSettings(plan, parsed, context);
  if (agreed === null) return EXIT_FAILED;
  const loaded = loadSettings(place, editedText(place, agreed));
  await writeSettings(place, agreed, { former, context, ports: ports.service });
  let server: StartedServer | null = null;
  let isPublished = false;
  try {
    const starting = (): string => `waiting for the server at ${serverUrl(loaded)} to start`;
    const start = { place, loaded, isRunning: plan.isRunning, isInEffect: plan.isInEffect, changes: agreed };
    server = await sayWhileSlow(context, starting, () => startServer(request, start));
    isPublished = await publish(request, { place, loaded, server, changes: agreed });
  } finally {
    if (!isPublished) {
      server?.stop();
      takeBackNewFile(request, place);
    }
  }
  return isPublished ? server.untilEnd() : EXIT_FAILED;
}

/** A file that was left would be the settings of the next server that starts here. */
function takeBackNewFile({ context, ports }: UpRequest, place: SettingsPlace): void {
  if (isOwnNewFile(place) && ports.service.remove(place.file))
    context.warn(`postern: removed ${place.file}, which this command had made`);
}

/** The server would reject the edge, after its settings are written and it runs. */
function requirePort({ host, port }: WantedUp, { publicPort, publicPorts }: ServerFacts): void {
  if (port === null || publicPorts === null || publicPorts.includes(port)) return;
  throw upFailed(
    `visitors cannot use port ${port} of this server: write ${host}:${publicPort}, add --edge-listen [::]:${port} to listen there, or --edge-host-ports ${port} if something in front maps that port to it. Nothing was changed`,
  );
}

/**
 * A server that runs keeps its settings, except for those that the flags name, and the identity host that a login
 * needs.
 */
async function planServer(request: UpRequest, place: SettingsPlace, former: LoadedConfig): Promise<ServerPlan> {
  const { wanted, parsed, context, ports } = request;
  const given = givenSettings(parsed.flags);
  const load = (settings: Settings): LoadedConfig =>
    loadSettings(place, editedText(place, missingSettings(settings, former)));
  const known = await knownServer(place, former, { given: load(given), ports });
  const isThere = known !== null;
  const standard = isThere
    ? new Map()
    : standardSettings({ host: wanted.host, loaded: former, everywhere: await everywhere() });
  const planned = new Map([...standard, ...given]);
  const own = factsOf(load(planned).config);
  const transport = isThere ? await openServer({ place, loaded: known, flags: parsed.flags, context, ports }) : null;
  const settings = transport === null ? [] : await readSettings(transport);
  const facts = isThere ? { ...factsInEffect(settings), ...named(own, given) } : own;
  if ((wanted.login === 'own' || wanted.console !== null) && facts.identityHost === null) {
    const host = await identityHostFor(wanted.host, ports);
    planned.set('identity_host', facts.publicPort === 443 ? host : `${host}:${facts.publicPort}`);
  }
  const folder = wanted.target?.kind === 'folder' ? wanted.target.folder : null;
  const roots = isThere ? rootsInEffect(settings) : former.config.file_roots;
  if (folder !== null && !given.has('file_roots') && !roots.some((root) => isIn(folder, root)))
    planned.set('file_roots', [...roots, folder]);
  // Login to the console leads back to this address.
  if (wanted.console !== null) {
    const port = facts.publicPort === 443 ? '' : `:${facts.publicPort}`;
    planned.set('api_url', `https://${wanted.console}${port}`);
    planned.set('api_behind_edge', true);
  }
  const changes = missingSettings(planned, former);
  const differing = differingSettings(settings, changes);
  // A service gets a new unit, which names the file.
  const isNewUnit = place.service !== null && !place.isKnown;
  if (transport !== null && !isNewUnit && differing.length > 0)
    requireReader(place, differing, await readConfigFile(transport));
  const next = load(planned);
  const isInEffect = !isNewUnit && differing.length === 0;
  const identityHost = facts.identityHost ?? next.config.identity_host;
  return { place, next, facts: { ...facts, identityHost }, isRunning: isThere, isInEffect, changes, given };
}

function rootsInEffect(settings: ShownSettings): readonly string[] {
  const roots = settings.find(({ name }) => name === 'file_roots')?.value ?? [];
  return roots as readonly string[];
}

interface Differing {
  readonly name: string;
  readonly wanted: WireValue;
  readonly found: ShownSettings[number] | undefined;
}

/** Changes that the server does not have. What is secret cannot be compared. */
function differingSettings(settings: ShownSettings, changes: Settings): readonly Differing[] {
  return [...changes].flatMap(([name, wanted]) => {
    if (settingOf(name).secrecy !== 'public') return [];
    const found = settings.find((each) => each.name === name);
    return JSON.stringify(found?.value ?? null) === JSON.stringify(wanted) ? [] : [{ name, wanted, found }];
  });
}

/**
 * Before anything is written or replaced: a new process of a server that does not read the file has the same settings.
 */
function requireReader(
  place: SettingsPlace,
  [first, ...others]: readonly Differing[],
  configFile: string | null | undefined,
): void {
  const overridden = [first, ...others].find((each) => /^(flag|variable) /.test(each?.found?.source ?? ''));
  const shown = overridden ?? first;
  if (shown === undefined) return;
  const why =
    overridden !== undefined
      ? `its ${overridden.name} comes from the ${overridden.found?.source}, which a file does not change`
      : configFile === null
        ? 'it was started without a settings file'
        : configFile !== undefined && !isSameFile(configFile, place.file)
          ? `its settings are in ${configFile}`
          : null;
  if (why === null) return;
  const needed = `${shown.name} must be ${JSON.stringify(shown.wanted)} there, and is ${JSON.stringify(shown.found?.value ?? null)}`;
  throw upFailed(
    `the server that runs does not use ${place.file}: ${why}. ${needed}. ${adviceFor(place)}. Nothing was changed`,
  );
}

function isSameFile(a: string, b: string): boolean {
  try {
    return realpathSync(a) === realpathSync(b);
  } catch {
    return false;
  }
}

function adviceFor(place: SettingsPlace): string {
  return isOwnNewFile(place)
    ? 'Change it where the server has its settings, restart it there, and run this command again'
    : `Start it with --config ${place.file}, or change the setting where the server has it, and run this command again`;
}

/**
 * The settings of the server that runs; null: none does. The flags are those of a move to another address, or of a
 * server that already listens there and does not read the file.
 */
async function knownServer(
  { text }: SettingsPlace,
  former: LoadedConfig,
  { given, ports }: { readonly given: LoadedConfig; readonly ports: UpPorts },
): Promise<LoadedConfig | null> {
  if (text !== null && (await isRunning({ loaded: former, ports }))) return former;
  const isElsewhere = text === null || serverUrl(given) !== serverUrl(former);
  return isElsewhere && (await isRunning({ loaded: given, ports })) ? given : null;
}

/** The facts about a server that runs which the flags change. */
function named(
  { identityHost, publicPort, publicPorts, isLocalOnly, isAcmeOn }: ServerFacts,
  given: Settings,
): Partial<ServerFacts> {
  return {
    ...(given.has('identity_host') && { identityHost }),
    ...((given.has('edge_listen') || given.has('edge_host_ports')) && { publicPort, publicPorts, isLocalOnly }),
    ...(given.has('acme') && { isAcmeOn }),
  };
}

interface Up {
  readonly place: SettingsPlace;
  readonly loaded: LoadedConfig;
  readonly server: StartedServer;
  readonly changes: Settings;
}

/** False: the user said no. */
async function publish(request: UpRequest, { place, loaded, server, changes }: Up): Promise<boolean> {
  const { wanted, parsed, context, ports } = request;
  const transport = await openServer({ place, loaded, flags: parsed.flags, context, ports });
  const settings = await settingsInEffect(transport, server, changes);
  const facts = factsInEffect(settings);
  const site = { settings, facts, parsed, context };
  const published = await publishSite(transport, { ...site, wanted });
  const console =
    published === null || wanted.console === null
      ? null
      : await publishSite(transport, { ...site, wanted: consoleSite(wanted.console, settings, loaded) });
  if (published === null || (wanted.console !== null && console === null)) return false;
  const identity = published.hasOwnLogin || console !== null ? identityAddress(facts.identityHost) : null;
  const hosts = [wanted.host, wanted.console, identity?.hostname].filter((host) => typeof host === 'string');
  const waiting = {
    isAcmeOn: facts.isAcmeOn,
    waitMs: ports.certificateWaitMs,
    print: (line: string) => context.print(line),
  };
  const isNewLogin = wanted.login === 'own' && !published.hadRules;
  const summary = {
    url: published.url,
    certificates: await certificateLines(transport, hosts, waiting),
    identity,
    // An earlier command named those who may enter.
    people: isNewLogin || peopleText(wanted.people) !== null ? wanted.people : null,
    administrator: identity === null || !context.isTerminal ? null : await administratorLink(loaded.config.data_dir),
    console: consoleLines(await consolePlace(transport, request, { loaded, console }), context),
    connection: await connectionFlags(loaded, context),
    width: terminalWidth(context),
  };
  for (const line of summaryLines(summary)) context.print(line);
  return true;
}

/** After a restart, the old process may still answer for a moment on a connection that is open. */
async function settingsInEffect(
  transport: Transport,
  server: StartedServer,
  changes: Settings,
): Promise<ShownSettings> {
  const deadlineMs = performance.now() + OLD_ANSWERS_MS;
  for (;;) {
    const settings = await readSettings(transport);
    try {
      server.requireSettings(settings, changes);
      return settings;
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
      await sleep(LOOK_AGAIN_MS);
    }
  }
}

/** A link is for a person at a terminal only: the output of a script may end up in a log. */
async function consolePlace(
  transport: Transport,
  { wanted, context }: UpRequest,
  { loaded, console }: { readonly loaded: LoadedConfig; readonly console: PublishedSite | null },
): Promise<ConsolePlace> {
  const here = serverUrl(loaded);
  const isLink = context.isTerminal;
  const link = isLink ? await loginLink(transport, here, context.env) : null;
  return {
    url: link?.url ?? `${here}/console`,
    isLink,
    code: link?.code ?? null,
    listen: dialled(loaded.config.api_listen),
    host: wanted.host,
    publicUrl: console === null ? null : `${console.url}console`,
  };
}

interface StartedServer {
  /** Throws if the server has other settings than those that were written: it does not use the file. */
  requireSettings(settings: ShownSettings, changes: Settings): void;
  /** Ends a server that runs in this terminal, because the site could not be published. */
  stop(): void;
  /** Resolves to the exit code: at once for a server that runs by itself, otherwise when it ends. */
  untilEnd(): Promise<number>;
}

interface Start {
  readonly place: SettingsPlace;
  readonly loaded: LoadedConfig;
  readonly isRunning: boolean;
  /** Whether a server that runs has all of the changes already. */
  readonly isInEffect: boolean;
  readonly changes: Settings;
}

async function startServer(request: UpRequest, start: Start): Promise<StartedServer> {
  const { place, loaded } = start;
  const byItself = { requireSettings: requireSettingsOf(place), stop: () => {}, untilEnd: () => Promise.resolve(0) };
  if (start.isRunning) {
    if (start.changes.size > 0 && !start.isInEffect) await restart(request, start);
    return byItself;
  }
  if (place.service !== null) {
    await install(request, start);
    await untilRunning({ loaded, ports: request.ports });
    return byItself;
  }
  return inTerminal(request, start);
}

async function inTerminal({ context, ports }: UpRequest, { place, loaded }: Start): Promise<StartedServer> {
  const server = ports.serve(['--config', place.file], { ...context, isTerminal: false });
  try {
    await untilRunning({ loaded, ports }, server.ended);
  } catch (error) {
    server.stop();
    throw error;
  }
  return {
    requireSettings: requireSettingsOf(place),
    stop: () => server.stop(),
    untilEnd: () => {
      const end = 'The server runs until you press Ctrl-C. As root on a machine with systemd, it becomes a service.';
      context.print(wholeWords(end, terminalWidth(context)));
      return server.ended;
    },
  };
}

function install({ typed, context, ports }: UpRequest, { place }: Start): Promise<number> {
  const { service: plan, file, isKnown } = place;
  if (plan === null) throw new Error('only a place of a service is installed');
  const settings = new Map(isKnown ? [] : [['config', file]]);
  return installService({ plan, settings, isStarted: true, typed, context, ports: ports.service });
}

/**
 * Without failing a request, if the server knows the file. Otherwise its variables change, which needs a new process.
 */
async function restart(request: UpRequest, start: Start): Promise<void> {
  const { context, ports } = request;
  const { place, loaded } = start;
  const written = isOwnNewFile(place)
    ? 'Restart it where it was started, and run this command again'
    : `The settings are in ${place.file}, and apply when the server is restarted`;
  if (place.service !== null && !place.isKnown) {
    await install(request, start);
    const { isDone, output } = ports.service.systemctl(['restart', place.service.name]);
    if (!isDone) throw upFailed(`systemctl restart ${place.service.name} failed: ${output}. ${written}`);
  } else if ((await ports.restart(loaded.config.data_dir, context)) !== 0) {
    throw upFailed(`the server was not restarted. ${written}`);
  }
  await untilRunning({ loaded, ports });
}

function requireSettingsOf(place: SettingsPlace): StartedServer['requireSettings'] {
  return (settings, changes) => {
    const [differing] = differingSettings(settings, changes);
    if (differing === undefined) return;
    const { name, found } = differing;
    throw upFailed(
      `the server that runs does not use ${place.file}: its ${name} is ${JSON.stringify(found?.value ?? null)}. ${adviceFor(place)}`,
    );
  };
}
