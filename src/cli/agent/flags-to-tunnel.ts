import { usage } from '../../lib/flags.ts';
import type { TextSource } from '../api/text-source.ts';
import type { TunnelCommandName } from './agent-flags.ts';
import type { TunnelConfig } from './config/agent-config.ts';
import { metadataProblem, nameProblem } from './config/text-problems.ts';
import {
  domainProblem,
  hostHeaderProblem,
  labelProblem,
  splitLabel,
  type TunnelKey,
  tunnelProblems,
} from './config/tunnel-rules.ts';
import type { FlagValues } from './flag-values.ts';
import { leadingFlag } from './modules/module-flags.ts';
import { moduleForms } from './modules/module-forms.ts';
import { modulesFromFlags } from './modules/modules-from-flags.ts';

/** The tunnel of `postern http 3000 …`, by the same rules as one in the file. */
export async function tunnelFromFlags(
  command: TunnelCommandName,
  positionals: readonly string[],
  flags: FlagValues,
  source: TextSource,
): Promise<TunnelConfig> {
  const [addr, ...others] = positionals;
  if (addr === undefined) throw usage(`postern ${command} requires the address of a service: postern ${command} 3000`);
  if (others.length > 0) throw usage(`postern ${command} takes one address; use "postern start" for several tunnels`);
  const scheme = flags.oneOf('scheme', ['https', 'http']);
  const upstreamCas = flags.repeated('upstream-ca');
  const insecureSkipVerify = flags.switch('upstream-insecure') ?? false;
  const tunnel: TunnelConfig = {
    name: flags.text('name', nameProblem) ?? command,
    addr,
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
