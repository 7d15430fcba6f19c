import { fileNameProblem } from '../../../kit/files/open-file.ts';
import { usage } from '../../../kit/flags.ts';
import type { CommandField, CommandForm } from '../../../modules/agent-modules.ts';
import type { TextSource } from '../api/text-source.ts';
import type { TunnelCommandName } from './agent-syntax.ts';
import type { TunnelConfig } from './config/agent-config.ts';
import {
  domainProblem,
  hostHeaderProblem,
  labelProblem,
  metadataProblem,
  nameProblem,
  splitLabel,
  type TunnelKey,
  tunnelProblems,
} from './config/tunnel-rules.ts';
import type { FlagValues } from './flag-values.ts';
import {
  type FieldValue,
  leadingFlag,
  type ModuleConfig,
  type ModuleConfigs,
  moduleForms,
  requestedConfig,
  ruleOf,
} from './module-forms.ts';

/** The tunnel of `postern http 3000 …`, by the same rules as one in the file. */
export async function tunnelFromFlags(
  command: TunnelCommandName,
  positionals: readonly string[],
  flags: FlagValues,
  source: TextSource,
): Promise<TunnelConfig> {
  const files = filesOf(flags);
  const [addr = '', ...others] = positionals;
  if (addr === '' && files === null)
    throw usage(`postern ${command} requires the address of a service: postern ${command} 3000`);
  if (others.length > 0) throw usage(`postern ${command} takes one address; use "postern start" for several tunnels`);
  const scheme = flags.oneOf('scheme', ['https', 'http']);
  const upstreamCas = flags.repeated('upstream-ca');
  const insecureSkipVerify = flags.switch('upstream-insecure') ?? false;
  const tunnel: TunnelConfig = {
    name: flags.text('name', nameProblem) ?? command,
    addr,
    files,
    proto: command === 'tunnel' ? null : command,
    labels: command === 'tunnel' ? labelsOf(flags) : null,
    schemes: scheme === null ? null : [scheme],
    domain: flags.text('domain', domainProblem),
    remotePort: flags.integer('port', 1, 65_535),
    metadata: flags.text('metadata', metadataProblem),
    hostHeader: flags.text('host-header', hostHeaderProblem),
    inspect: true,
    modules: await modulesFromFlags(flags, source),
    upstreamTls:
      upstreamCas.length === 0 && !insecureSkipVerify
        ? null
        : { rootCas: upstreamCas, serverName: null, insecureSkipVerify },
  };
  const [problem] = tunnelProblems(tunnel, spell);
  if (problem !== undefined) throw usage(problem.message);
  return tunnel;
}

function filesOf(flags: FlagValues): TunnelConfig['files'] {
  const folder = flags.text('files');
  const options = {
    fallback: flags.text('fallback', fileNameProblem),
    notFoundPage: flags.text('not-found-page', fileNameProblem),
    listing: flags.switch('listing') ?? false,
  };
  if (folder !== null) return { folder, ...options };
  const [given] = ['fallback', 'not-found-page', 'listing'].filter((name) => flags.has(name));
  if (given !== undefined) throw usage(`--${given} belongs to a folder: add --files ./site`);
  return null;
}

function labelsOf(flags: FlagValues): Readonly<Record<string, string>> {
  const pairs = flags.list('label', labelProblem).map(splitLabel);
  if (pairs.length === 0) throw usage('postern tunnel requires a label: --label app=web');
  if (new Set(pairs.map(([name]) => name)).size < pairs.length) throw usage('--label has two values for one name');
  return Object.fromEntries(pairs);
}

/** A key of the file as a flag. */
function spell(key: TunnelKey): string {
  if (key === 'labels') return '--label';
  const form = moduleForms().find((each) => each.key === key);
  return form === undefined ? `--${key.replaceAll('_', '-')}` : leadingFlag(form);
}

async function modulesFromFlags(flags: FlagValues, source: TextSource): Promise<ModuleConfigs> {
  const modules: Record<string, ModuleConfig> = {};
  for (const form of moduleForms()) {
    const config = await moduleFromFlags(form, flags, source);
    if (config !== null) modules[form.module] = config;
  }
  return modules;
}

async function moduleFromFlags(form: CommandForm, flags: FlagValues, source: TextSource): Promise<ModuleConfig | null> {
  if (form.shape === 'switch') return flags.switch(form.flag?.name ?? '') === true ? {} : null;
  const values = new Map<string, FieldValue | null>();
  for (const field of form.fields) values.set(field.name, await fieldFromFlag(field, flags, source));
  if (form.bare !== undefined && flags.switch(form.bare.flag.name) === true)
    return bareConfig(form, form.bare.flag.name, flags);
  checkNeeded(form.fields, flags);
  return requestedConfig(form, values);
}

function bareConfig({ fields }: CommandForm, name: string, flags: FlagValues): ModuleConfig {
  const extra = fields.find(({ flag }) => flag !== undefined && flags.has(flag.name));
  if (extra === undefined) return {};
  throw usage(`--${name} and --${extra.flag?.name} exclude each other: --${name} needs nothing else`);
}

async function fieldFromFlag(field: CommandField, flags: FlagValues, source: TextSource): Promise<FieldValue | null> {
  const { flag, kind, maxItems = Number.POSITIVE_INFINITY } = field;
  if (flag === undefined) return null;
  const { name } = flag;
  if (kind === 'boolean') return flags.switch(name);
  if (kind === 'integer') return flags.integer(name, field.minimum ?? 0, field.maximum ?? Number.MAX_SAFE_INTEGER);
  if (kind === 'number') return flags.number(name, field.minimum ?? 0, field.maximum ?? Number.MAX_SAFE_INTEGER);
  if (kind === 'text') return field.isSecret ? flags.secret(name, source) : flags.text(name, ruleOf(field));
  const isRepeated = field.isCertificateFile === true || field.isRepeated === true;
  const given = isRepeated ? flags.repeated(name) : flags.list(name, ruleOf(field));
  const items = field.isSecret ? await Promise.all(given.map((each) => source.expand(each, name))) : given;
  const problem = items.map(ruleOf(field)).find((each) => each !== null) ?? null;
  if (problem !== null) throw usage(`--${name} ${problem}`);
  if (items.length > maxItems) throw usage(`--${name} can have at most ${maxItems} values`);
  return items.length === 0 ? null : items;
}

/** Otherwise a tunnel that its owner believes to be protected would be open to everybody. */
function checkNeeded(fields: readonly CommandField[], flags: FlagValues): void {
  const given = fields.filter(({ flag }) => flag !== undefined && flags.has(flag.name));
  const [leading, ...others] = fields.filter(({ isNeeded }) => isNeeded === true);
  if (leading === undefined || given[0] === undefined) return;
  if (!given.includes(leading)) throw usage(`--${given[0].flag?.name} requires --${leading.flag?.name}`);
  const missing = others.find((field) => !given.includes(field));
  if (missing !== undefined) throw usage(`--${leading.flag?.name} requires --${missing.flag?.name}`);
}
